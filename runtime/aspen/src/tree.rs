//! A file as a tree, each part with its place.

use crate::source::Span;

/// A name; one of an imported model has dots.
#[derive(Clone, PartialEq, Debug)]
pub struct Name {
    /// As written, without spaces.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A formula.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where, parentheses left out.
    pub span: Span,
}

/// What a formula is.
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

/// What joins two formulas.
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
    Compare(Comparison, Expr, Expr),
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// One holds or both do.
    Or(Box<Condition>, Box<Condition>),
}

/// How two formulas are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
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

/// What stands before the kernels of a model, in a kernel, or beside the components of a machine.
#[derive(Clone, PartialEq, Debug)]
pub enum Global {
    /// `param n = 5 in 1 .. 10`
    Param(Param),
    /// `enum decomposition { pencil, slab }`
    Enum(Name, Vec<Name>),
    /// `data x [8*n]`, or `as Array(n, 8)`.
    Data(Data),
    /// `import m from "m.aspen" with n = 2*n`
    Import(Import),
    /// `include memory/ddr3.aspen`
    Include(Name),
}

/// A parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// What it is called.
    pub name: Name,
    /// Its default.
    pub value: Expr,
    /// What else it can be.
    pub domain: Option<Domain>,
}

/// What a parameter can be.
#[derive(Clone, PartialEq, Debug)]
pub enum Domain {
    /// From a least value to a greatest.
    Range(Expr, Expr),
    /// The values of an enumeration.
    Enum(Name),
}

/// A data structure.
#[derive(Clone, PartialEq, Debug)]
pub struct Data {
    /// What it is called.
    pub name: Name,
    /// Its size in bytes: the formula, or the product of a shape's arguments.
    pub size: Expr,
    /// `true` if the size is a shape such as `Matrix(n, n, word)`.
    pub is_shape: bool,
}

/// A model that becomes a part of this one.
#[derive(Clone, PartialEq, Debug)]
pub struct Import {
    /// What the model is called, here and in its file.
    pub model: Name,
    /// The file's name, relative to the file that imports.
    pub file: Name,
    /// Parameters of the model that get formulas of this one.
    pub with: Vec<(Name, Expr)>,
}

/// A model of an application.
#[derive(Clone, PartialEq, Debug)]
pub struct Application {
    /// What it is called.
    pub name: Name,
    /// Parameters, data and imports.
    pub globals: Vec<Global>,
    /// Kernels.
    pub kernels: Vec<Kernel>,
}

/// A kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// What it is called.
    pub name: Name,
    /// What its callers give.
    pub arguments: Vec<Argument>,
    /// Its own parameters and data.
    pub locals: Vec<Global>,
    /// What it does.
    pub body: Vec<Statement>,
}

/// `param x` or `data x`.
#[derive(Clone, PartialEq, Debug)]
pub struct Argument {
    /// What it is called.
    pub name: Name,
    /// `true` if it is a data structure.
    pub is_data: bool,
}

/// A step of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// Its first word.
    pub span: Span,
}

/// What a step is.
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
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// `probability { [0.5] { ... } else { ... } }`
    Probability(Vec<Case>, Vec<Statement>),
    /// `switch (n) { [1] { ... } else { ... } }`
    Switch(Name, Vec<Case>, Vec<Statement>),
}

/// A block of steps.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// `true` if the steps need not wait for each other.
    pub parallel: bool,
    /// What it is called, or nothing.
    pub label: String,
    /// The steps.
    pub body: Vec<Statement>,
}

/// Steps that happen several times.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// `true` if one time need not wait for another: `map`.
    pub parallel: bool,
    /// What counts them from 0.
    pub counter: Option<Name>,
    /// How often.
    pub count: Expr,
    /// What it is called, or nothing.
    pub label: String,
    /// The steps.
    pub body: Vec<Statement>,
}

/// One of several ways on.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// Its probability, or the value for which it is taken.
    pub value: Expr,
    /// The steps.
    pub body: Vec<Statement>,
}

/// Resources that are used together.
#[derive(Clone, PartialEq, Debug)]
pub struct Execute {
    /// How often, side by side.
    pub parallelism: Option<Expr>,
    /// What it is called, or nothing.
    pub label: String,
    /// The resources.
    pub uses: Vec<Use>,
}

/// `loads [n] of size [8] from x as stride(2)`
#[derive(Clone, PartialEq, Debug)]
pub struct Use {
    /// Which resource.
    pub resource: Name,
    /// How much of it, or how many pieces.
    pub count: Expr,
    /// How large a piece is.
    pub size: Option<Expr>,
    /// Which data structure.
    pub data: Option<Name>,
    /// How.
    pub traits: Vec<Trait>,
}

/// `stride(2)`
#[derive(Clone, PartialEq, Debug)]
pub struct Trait {
    /// What it is called.
    pub name: Name,
    /// How much of it.
    pub value: Option<Expr>,
}

/// `socket intel { ... }`
#[derive(Clone, PartialEq, Debug)]
pub struct Component {
    /// What it is: machine, node, socket, core, memory, cache, interconnect, link or another word.
    pub kind: Name,
    /// What it is called.
    pub name: Name,
    /// What is in it.
    pub items: Vec<Item>,
}

/// What is in a component.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// `core [4] westmere`
    Part {
        /// What it is.
        kind: Name,
        /// How many of them.
        count: Option<Expr>,
        /// Which component.
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
        /// How much.
        watts: Expr,
    },
    /// `conflict loads, stores`
    Conflict(Name, Name),
}

/// What a component can do, and what that costs.
#[derive(Clone, PartialEq, Debug)]
pub struct Resource {
    /// What it is called.
    pub name: Name,
    /// What stands for how much of it is used.
    pub argument: Name,
    /// Seconds.
    pub cost: Expr,
    /// How traits change the cost.
    pub traits: Vec<TraitCost>,
}

/// `stride(n) [base*n]`
#[derive(Clone, PartialEq, Debug)]
pub struct TraitCost {
    /// What the trait is called.
    pub name: Name,
    /// What stands for how much of it there is.
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

/// A file.
#[derive(Clone, PartialEq, Debug)]
pub enum File {
    /// `model name { ... }`
    Application(Application),
    /// Anything else.
    Machine(MachineFile),
}
