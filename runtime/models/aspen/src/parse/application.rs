//! Models of applications.

use super::expression::{call, condition, expression, list, quantity, value};
use super::{Input, Parsed, all, deeper, include, keyword, name, named, path, sign, text};
use crate::tree::{
    Alternative, ApplicationFile, ArgumentName, Block, DataStructure, Domain, Execute, Global, Import,
    Kernel, KernelStatement, Loop, Param, StatementKind, Trait, Use,
};
use winnow::combinator::{alt, delimited, opt, preceded, separated};
use winnow::prelude::*;

/// Parses `model name { globals and kernels }`.
pub(super) fn application(input: &mut Input<'_>) -> Parsed<ApplicationFile> {
    enum ApplicationItem {
        Global(Global),
        Kernel(Kernel),
    }
    let part = alt((
        kernel.map(ApplicationItem::Kernel),
        global.map(ApplicationItem::Global),
        include.map(ApplicationItem::Global),
    ));
    let (name, parts) =
        (preceded(keyword("model"), name), delimited(sign("{"), all(part), sign("}"))).parse_next(input)?;
    let mut application = ApplicationFile { name, globals: Vec::new(), kernels: Vec::new() };
    for part in parts {
        match part {
            ApplicationItem::Global(global) => application.globals.push(global),
            ApplicationItem::Kernel(kernel) => application.kernels.push(kernel),
        }
    }
    Ok(application)
}

/// Parses `param`, `enum`, `data` or `import`.
pub(super) fn global(input: &mut Input<'_>) -> Parsed<Global> {
    alt((param, enumeration, data, import)).parse_next(input)
}

fn param(input: &mut Input<'_>) -> Parsed<Global> {
    let brackets = (sign("["), sign("]")).void();
    let (name, _, _) =
        (preceded(keyword("param"), path), opt((brackets, opt((sign("["), sign("]"))))), sign("="))
            .parse_next(input)?;
    let value = value.parse_next(input)?;
    let range =
        (expression, preceded(sign(".."), expression)).map(|(least, most)| Domain::Range(least, most));
    let enumerated = super::name.map(Domain::Enum);
    let domain = opt(preceded(keyword("in"), alt((range, enumerated)))).parse_next(input)?;
    Ok(Global::Param(Param { name, value, domain }))
}

fn enumeration(input: &mut Input<'_>) -> Parsed<Global> {
    let values = delimited(sign("{"), separated(1.., name, sign(",")), sign("}"));
    (preceded(keyword("enum"), name), values)
        .map(|(name, values)| Global::Enum(name, values))
        .parse_next(input)
}

fn data(input: &mut Input<'_>) -> Parsed<Global> {
    let name = preceded(keyword("data"), name).parse_next(input)?;
    let size =
        alt((preceded(keyword("as"), call).map(|shape| (shape, true)), quantity.map(|size| (size, false))));
    let (size, is_shape) = { size }.parse_next(input)?;
    Ok(Global::Data(DataStructure { name, size, is_shape }))
}

fn import(input: &mut Input<'_>) -> Parsed<Global> {
    let given = (name, preceded(sign("="), expression));
    let with = opt(preceded(keyword("with"), separated(1.., given, sign(","))));
    (preceded(keyword("import"), name), preceded(keyword("from"), text), with)
        .map(|(model, file, with)| Global::Import(Import { model, file, with: with.unwrap_or_default() }))
        .parse_next(input)
}

fn kernel(input: &mut Input<'_>) -> Parsed<Kernel> {
    let argument = (alt((keyword("data").value(true), keyword("param").value(false))), path)
        .map(|(is_data, name)| ArgumentName { name, is_data });
    let arguments = opt(delimited(sign("("), separated(0.., argument, sign(",")), sign(")")));
    let (name, arguments) = (preceded(keyword("kernel"), path), arguments).parse_next(input)?;
    let (locals, body) = delimited(sign("{"), (all(global), all(statement)), sign("}")).parse_next(input)?;
    Ok(Kernel { name, arguments: arguments.unwrap_or_default(), locals, body })
}

fn body(input: &mut Input<'_>) -> Parsed<Vec<KernelStatement>> {
    deeper(delimited(sign("{"), all(statement), sign("}"))).parse_next(input)
}

fn label(input: &mut Input<'_>) -> Parsed<String> {
    opt(text).map(|text| text.map(|text| text.text).unwrap_or_default()).parse_next(input)
}

fn statement(input: &mut Input<'_>) -> Parsed<KernelStatement> {
    alt((execute, kernel_call, repeated, sample, branch, probability, switch, block)).parse_next(input)
}

/// Parses `execute`, whose label may be a word before the quantity, as in older models.
fn execute(input: &mut Input<'_>) -> Parsed<KernelStatement> {
    let span = keyword("execute").parse_next(input)?;
    let (word, parallelism, label) = (opt(named("a label")), opt(quantity), label).parse_next(input)?;
    let label = word.map_or(label, |word| word.text);
    let uses = delimited(sign("{"), all(resource_use), sign("}")).parse_next(input)?;
    Ok(KernelStatement { kind: StatementKind::Execute(Execute { parallelism, label, uses }), span })
}

fn resource_use(input: &mut Input<'_>) -> Parsed<Use> {
    let size = opt(preceded((keyword("of"), keyword("size")), quantity));
    let data = opt(preceded(alt((keyword("from"), keyword("to"))), name));
    let value = opt(delimited(sign("("), expression, sign(")")));
    let one = (named("a trait's name"), value).map(|(name, value)| Trait { name, value });
    let traits = opt(preceded(keyword("as"), separated(1.., one, sign(","))));
    (named("a resource's name"), quantity, size, data, traits)
        .map(|(resource, count, size, data, traits)| Use {
            resource,
            count,
            size,
            data,
            traits: traits.unwrap_or_default(),
        })
        .parse_next(input)
}

fn kernel_call(input: &mut Input<'_>) -> Parsed<KernelStatement> {
    let arguments = opt(delimited(sign("("), list, sign(")")));
    (keyword("call"), path, arguments)
        .map(|(span, name, arguments)| KernelStatement {
            kind: StatementKind::Call(name, arguments.unwrap_or_default()),
            span,
        })
        .parse_next(input)
}

fn repeated(input: &mut Input<'_>) -> Parsed<KernelStatement> {
    let word = alt((keyword("iterate").map(|span| (span, false)), keyword("map").map(|span| (span, true))));
    ({ word }, opt(path), quantity, label, body)
        .map(|((span, parallel), counter, count, label, body)| KernelStatement {
            kind: StatementKind::Loop(Loop { parallel, counter, count, label, body }),
            span,
        })
        .parse_next(input)
}

fn block(input: &mut Input<'_>) -> Parsed<KernelStatement> {
    let word = alt((keyword("par").map(|span| (span, true)), keyword("seq").map(|span| (span, false))));
    ({ word }, label, body)
        .map(|((span, parallel), label, body)| KernelStatement {
            kind: StatementKind::Block(Block { parallel, label, body }),
            span,
        })
        .parse_next(input)
}

fn sample(input: &mut Input<'_>) -> Parsed<KernelStatement> {
    (keyword("sample"), path, preceded(keyword("from"), call))
        .map(|(span, name, distribution)| KernelStatement {
            kind: StatementKind::Sample(name, distribution),
            span,
        })
        .parse_next(input)
}

fn branch(input: &mut Input<'_>) -> Parsed<KernelStatement> {
    let span = keyword("if").parse_next(input)?;
    let (condition, then) = (delimited(sign("("), condition, sign(")")), body).parse_next(input)?;
    let otherwise = opt(preceded(keyword("else"), alt((body, deeper(branch).map(|branch| vec![branch])))))
        .parse_next(input)?;
    Ok(KernelStatement { kind: StatementKind::If(condition, then, otherwise.unwrap_or_default()), span })
}

/// Parses `[value] { ... }` several times, and maybe `else { ... }`, in braces.
fn cases(input: &mut Input<'_>) -> Parsed<(Vec<Alternative>, Vec<KernelStatement>)> {
    let case = (quantity, body).map(|(value, body)| Alternative { value, body });
    let otherwise = opt(preceded(keyword("else"), body)).map(Option::unwrap_or_default);
    deeper(delimited(sign("{"), (all(case), otherwise), sign("}"))).parse_next(input)
}

fn probability(input: &mut Input<'_>) -> Parsed<KernelStatement> {
    (keyword("probability"), cases)
        .map(|(span, (cases, otherwise))| KernelStatement {
            kind: StatementKind::Probability(cases, otherwise),
            span,
        })
        .parse_next(input)
}

fn switch(input: &mut Input<'_>) -> Parsed<KernelStatement> {
    (keyword("switch"), delimited(sign("("), path, sign(")")), cases)
        .map(|(span, value, (cases, otherwise))| KernelStatement {
            kind: StatementKind::Switch(value, cases, otherwise),
            span,
        })
        .parse_next(input)
}
