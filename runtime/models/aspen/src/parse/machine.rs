//! Machines and parts of machines.

use super::application::global;
use super::expression::quantity;
use super::{Input, Parsed, all, include, keyword, named, sign};
use crate::tree::{Component, Global, Item, MachineFile, Resource, TraitCost};
use winnow::combinator::{alt, delimited, opt, preceded, separated};
use winnow::prelude::*;

/// Parameters, includes and components in any order.
pub(super) fn machine(input: &mut Input<'_>) -> Parsed<MachineFile> {
    enum MachineItem {
        Global(Global),
        Component(Component),
    }
    let parts = all(alt((
        include.map(MachineItem::Global),
        global.map(MachineItem::Global),
        component.map(MachineItem::Component),
    )))
    .parse_next(input)?;
    let mut file = MachineFile::default();
    for part in parts {
        match part {
            MachineItem::Global(global) => file.globals.push(global),
            MachineItem::Component(component) => file.components.push(component),
        }
    }
    Ok(file)
}

fn component(input: &mut Input<'_>) -> Parsed<Component> {
    let item = alt((property, resource, power, conflict, part));
    (named("a kind of component"), named("a component's name"), delimited(sign("{"), all(item), sign("}")))
        .map(|(kind, name, items)| Component { kind, name, items })
        .parse_next(input)
}

fn part(input: &mut Input<'_>) -> Parsed<Item> {
    (named("a kind of component"), opt(quantity), named("a component's name"))
        .map(|(kind, count, name)| Item::Part { kind, count, name })
        .parse_next(input)
}

fn property(input: &mut Input<'_>) -> Parsed<Item> {
    (preceded(keyword("property"), named("a property's name")), opt(quantity))
        .map(|(name, value)| Item::Property(name, value))
        .parse_next(input)
}

fn conflict(input: &mut Input<'_>) -> Parsed<Item> {
    (
        preceded(keyword("conflict"), named("a resource's name")),
        preceded(sign(","), named("a resource's name")),
    )
        .map(|(a, b)| Item::Conflict(a, b))
        .parse_next(input)
}

fn power(input: &mut Input<'_>) -> Parsed<Item> {
    let dynamic = alt((keyword("static").value(false), keyword("dynamic").value(true)));
    ({ dynamic }, preceded(keyword("power"), quantity))
        .map(|(dynamic, watts)| Item::Power { dynamic, watts })
        .parse_next(input)
}

fn resource(input: &mut Input<'_>) -> Parsed<Item> {
    let argument = |input: &mut Input<'_>| {
        delimited(sign("("), named("an argument's name"), sign(")")).parse_next(input)
    };
    let one = (named("a trait's name"), opt(argument), quantity).map(|(name, argument, cost)| TraitCost {
        name,
        argument,
        cost,
    });
    let traits = opt(preceded(keyword("with"), separated(1.., one, sign(","))));
    (preceded(keyword("resource"), named("a resource's name")), argument, quantity, traits)
        .map(|(name, argument, cost, traits)| {
            Item::Resource(Resource { name, argument, cost, traits: traits.unwrap_or_default() })
        })
        .parse_next(input)
}
