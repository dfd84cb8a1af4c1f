//! A file as a tree, each part with its place.

use crate::source::SourceSpan;

/// A name; one of an imported model has dots.
#[derive(Clone, PartialEq, Debug)]
pub struct Name {
    /// The text as written, without spaces.
    pub text: String,
    /// The span of the source.
    pub span: SourceSpan,
}

/// A formula.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// Kind of the formula, with its operands.
    pub kind: ExprKind,
    /// The span of the source, parentheses left out.
    pub span: SourceSpan,
}

/// Kind of a formula.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A number.
    Number(f64),
    /// `nano` to `exa`, as a number.
    Unit(f64),
    /// A parameter, argument, counter or sample.
    Name(String),
    /// `array[i]` or `table[i][j]`.
    Element(String, Vec<Expr>),
    /// `-a`.
    Negative(Box<Expr>),
    /// `a + b`.
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `max(a, b)`.
    Call(String, Vec<Expr>),
    /// `{1, 2}`, in a parameter only.
    Array(Vec<Expr>),
    /// `{{1, 2}, {3}}`, in a parameter only.
    Table(Vec<Vec<Expr>>),
}

/// Binary operator of two formulas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
    /// `^`, which binds to the right.
    Power,
}

/// `n > 1`, or several joined.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// Two formulas.
    Compare(Relation, Expr, Expr),
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// One holds or both do.
    Or(Box<Condition>, Box<Condition>),
}

/// Comparison of two formulas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// `==`
    Equal,
    /// `!=`
    Different,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
}

/// Declaration before the kernels of a model, in a kernel, or beside the components of a machine.
#[derive(Clone, PartialEq, Debug)]
pub enum Global {
    /// `param n = 5 in 1 .. 10`
    Param(Param),
    /// `enum decomposition { pencil, slab }`
    Enum(Name, Vec<Name>),
    /// `data x [8*n]`, or `as Array(n, 8)`.
    Data(DataStructure),
    /// `import m from "m.aspen" with n = 2*n`
    Import(Import),
    /// `include memory/ddr3.aspen`
    Include(Name),
}

/// A parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// Name of the parameter.
    pub name: Name,
    /// The default.
    pub value: Expr,
    /// Values that the parameter can take, if they are restricted.
    pub domain: Option<Domain>,
}

/// Values that a parameter can take.
#[derive(Clone, PartialEq, Debug)]
pub enum Domain {
    /// From a least value to a greatest.
    Range(Expr, Expr),
    /// The values of an enumeration.
    Enum(Name),
}

/// A data structure.
#[derive(Clone, PartialEq, Debug)]
pub struct DataStructure {
    /// Name of the data structure.
    pub name: Name,
    /// The size in bytes: the formula, or the product of a shape's arguments.
    pub size: Expr,
    /// `true` if the size is a shape such as `Matrix(n, n, word)`.
    pub is_shape: bool,
}

/// A model that becomes a part of this one.
#[derive(Clone, PartialEq, Debug)]
pub struct Import {
    /// Name of the model, here and in its file.
    pub model: Name,
    /// The file's name, relative to the file that imports.
    pub file: Name,
    /// Parameters of the model that get formulas of this one.
    pub with: Vec<(Name, Expr)>,
}

/// Syntax tree of a model of an application.
#[derive(Clone, PartialEq, Debug)]
pub struct ApplicationFile {
    /// Name of the model.
    pub name: Name,
    /// Parameters, data and imports.
    pub globals: Vec<Global>,
    /// Kernels.
    pub kernels: Vec<Kernel>,
}

/// A kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// Name of the kernel.
    pub name: Name,
    /// Arguments that its callers pass.
    pub arguments: Vec<ArgumentName>,
    /// Own parameters and data.
    pub locals: Vec<Global>,
    /// Steps of the kernel, in order.
    pub body: Vec<KernelStatement>,
}

/// `param x` or `data x`.
#[derive(Clone, PartialEq, Debug)]
pub struct ArgumentName {
    /// Name of the argument.
    pub name: Name,
    /// `true` if it is a data structure.
    pub is_data: bool,
}

/// A step of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelStatement {
    /// Kind of the step, with its operands.
    pub kind: StatementKind,
    /// The first word.
    pub span: SourceSpan,
}

/// Kind of a step.
#[derive(Clone, PartialEq, Debug)]
pub enum StatementKind {
    /// `execute [parallelism] "label" { ... }`
    Execute(Execute),
    /// `call k(n)`
    Call(Name, Vec<Expr>),
    /// `sample x from uniform(0, 1)`
    Sample(Name, Expr),
    /// `par { ... }` or `seq { ... }`
    Block(Block),
    /// `iterate i [n] { ... }` or `map i [n] { ... }`
    Loop(Loop),
    /// `if (n > 1) { ... } else { ... }`
    If(Condition, Vec<KernelStatement>, Vec<KernelStatement>),
    /// `probability { [0.5] { ... } else { ... } }`
    Probability(Vec<Alternative>, Vec<KernelStatement>),
    /// `switch (n) { [1] { ... } else { ... } }`
    Switch(Name, Vec<Alternative>, Vec<KernelStatement>),
}

/// A block of steps.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// `true` if the steps need not wait for each other.
    pub parallel: bool,
    /// Label; empty if there is none.
    pub label: String,
    /// The steps.
    pub body: Vec<KernelStatement>,
}

/// Steps that happen several times.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// `true` if one time need not wait for another: `map`.
    pub parallel: bool,
    /// Name of the counter, which counts the iterations from 0.
    pub counter: Option<Name>,
    /// Number of iterations.
    pub count: Expr,
    /// Label; empty if there is none.
    pub label: String,
    /// The steps.
    pub body: Vec<KernelStatement>,
}

/// One alternative of a branch.
#[derive(Clone, PartialEq, Debug)]
pub struct Alternative {
    /// The probability, or the value for which it is taken.
    pub value: Expr,
    /// The steps.
    pub body: Vec<KernelStatement>,
}

/// Resources that are used together.
#[derive(Clone, PartialEq, Debug)]
pub struct Execute {
    /// Number of times that the resources are used side by side; 1 if absent.
    pub parallelism: Option<Expr>,
    /// Label; empty if there is none.
    pub label: String,
    /// The resources.
    pub uses: Vec<Use>,
}

/// `loads [n] of size [8] from x as stride(2)`
#[derive(Clone, PartialEq, Debug)]
pub struct Use {
    /// Name of the resource.
    pub resource: Name,
    /// Amount of the resource, or number of pieces.
    pub count: Expr,
    /// Size of a piece.
    pub size: Option<Expr>,
    /// Name of the data structure.
    pub data: Option<Name>,
    /// The traits.
    pub traits: Vec<Trait>,
}

/// `stride(2)`
#[derive(Clone, PartialEq, Debug)]
pub struct Trait {
    /// Name of the trait.
    pub name: Name,
    /// Value of the trait, such as the 2 of `stride(2)`.
    pub value: Option<Expr>,
}

/// `socket intel { ... }`
#[derive(Clone, PartialEq, Debug)]
pub struct Component {
    /// Kind of component: machine, node, socket, core, memory, cache, interconnect, link or another word.
    pub kind: Name,
    /// Name of the component.
    pub name: Name,
    /// Items of the component.
    pub items: Vec<Item>,
}

/// Item of a component.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// `core [4] westmere`
    Part {
        /// Kind of the part.
        kind: Name,
        /// Number of parts; 1 if absent.
        count: Option<Expr>,
        /// Name of the component that is the part.
        name: Name,
    },
    /// `property capacity [6*giga]`
    Property(Name, Option<Expr>),
    /// `resource flops(n) [n/clock] with dp [base*2]`
    Resource(Resource),
    /// `static power [30]` or `dynamic power [100]`, in watts.
    Power {
        /// `true` if it flows only while the component works.
        dynamic: bool,
        /// Watts.
        watts: Expr,
    },
    /// `conflict loads, stores`
    Conflict(Name, Name),
}

/// Capability of a component, and its cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Resource {
    /// Name of the resource.
    pub name: Name,
    /// Name that stands in the cost for the amount used.
    pub argument: Name,
    /// Seconds.
    pub cost: Expr,
    /// Costs with traits.
    pub traits: Vec<TraitCost>,
}

/// `stride(n) [base*n]`
#[derive(Clone, PartialEq, Debug)]
pub struct TraitCost {
    /// Name of the trait.
    pub name: Name,
    /// Name that stands in the cost for the value of the trait.
    pub argument: Option<Name>,
    /// Seconds; `base` stands for the seconds without the trait.
    pub cost: Expr,
}

/// Parameters and components of machines.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MachineFile {
    /// Parameters and includes, in order.
    pub globals: Vec<Global>,
    /// Components, in order.
    pub components: Vec<Component>,
}

/// A file with a model.
#[derive(Clone, PartialEq, Debug)]
pub enum ModelFile {
    /// `model name { ... }`
    Application(ApplicationFile),
    /// Anything else.
    Machine(MachineFile),
}
