/**
 * Conditions and changes in DynamoDB's expression language, composed of named fragments. A fragment names attributes by
 * what they mean (`#epoch`), and this file maps them to the short stored names. Every value is a placeholder, so no
 * text from outside is ever part of an expression.
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { ensure } from "../../../core/ensure.ts";
import { ATTRIBUTES, type Attribute } from "./attributes.ts";

type Values = Readonly<Record<string, AttributeValue>>;

/** A part of an expression, with the values of its placeholders. */
export interface Fragment {
  readonly text: string;
  readonly values: Values;
}

/** What a write does to one attribute. */
export type AttributeChange =
  | ({ readonly kind: "set" } & Fragment)
  | { readonly kind: "remove"; readonly attribute: Attribute };

export const textValue = (value: string): AttributeValue => ({ S: value });
export const number = (value: number): AttributeValue => ({ N: String(value) });
export const flag: AttributeValue = { BOOL: true };

/** A fragment of that text; `values` by their placeholder, such as `:born`. */
export const fragment = (text: string, values: Values = {}): Fragment => ({ text, values });

export const all = (...parts: readonly Fragment[]): Fragment => joined(parts, " AND ");
export const either = (...parts: readonly Fragment[]): Fragment => {
  const { text, values } = joined(parts, " OR ");
  return { text: `(${text})`, values };
};

export const set = (attribute: Attribute, value: AttributeValue): AttributeChange => ({
  kind: "set",
  ...fragment(`#${attribute} = :new_${attribute}`, { [`:new_${attribute}`]: value }),
});

export const raise = (attribute: Attribute): AttributeChange => ({
  kind: "set",
  ...fragment(`#${attribute} = #${attribute} + :one`, { ":one": number(1) }),
});

export const remove = (...attributes: readonly Attribute[]): readonly AttributeChange[] =>
  attributes.map((attribute) => ({ kind: "remove", attribute }));

/** Sets an attribute, or removes it for null. */
export const setOrRemove = (attribute: Attribute, value: AttributeValue | null): readonly AttributeChange[] =>
  value === null ? remove(attribute) : [set(attribute, value)];

interface Named {
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues?: Record<string, AttributeValue>;
}

export type ConditionInput = Named & { readonly ConditionExpression: string };

export function conditionInput(condition: Fragment): ConditionInput {
  return { ConditionExpression: condition.text, ...named(condition) };
}

export function keyInput(condition: Fragment): Named & { readonly KeyConditionExpression: string } {
  return { KeyConditionExpression: condition.text, ...named(condition) };
}

export function projectionInput(attributes: readonly Attribute[]) {
  const names = attributes.map((attribute) => `#${attribute}`).join(", ");
  return { ProjectionExpression: names, ...named(fragment(names)) };
}

export function updateInput(
  condition: Fragment,
  changes: readonly AttributeChange[],
): ConditionInput & { readonly UpdateExpression: string } {
  const sets = changes.filter((change) => change.kind === "set");
  const removed = changes.flatMap((change) => (change.kind === "remove" ? [`#${change.attribute}`] : []));
  const update = joined(sets, ", ");
  const clauses = [
    ...(sets.length === 0 ? [] : [`SET ${update.text}`]),
    ...(removed.length === 0 ? [] : [`REMOVE ${removed.join(", ")}`]),
  ];
  const UpdateExpression = clauses.join(" ");
  const whole = { text: `${condition.text} ${UpdateExpression}`, values: merged([condition, update]) };
  return { ConditionExpression: condition.text, UpdateExpression, ...named(whole) };
}

function joined(parts: readonly Fragment[], by: string): Fragment {
  return { text: parts.map(({ text }) => text).join(by), values: merged(parts) };
}

function merged(parts: readonly Fragment[]): Values {
  const values: Record<string, AttributeValue> = {};
  for (const [name, value] of parts.flatMap((each) => Object.entries(each.values))) {
    const known = values[name];
    ensure(
      known === undefined || JSON.stringify(known) === JSON.stringify(value),
      `the placeholder ${name} has two different values`,
    );
    values[name] = value;
  }
  return values;
}

/**
 * The names and values of an expression: exactly those that it uses, since DynamoDB refuses missing and unused ones.
 */
function named({ text, values }: Fragment): Named {
  const names = new Set([...text.matchAll(/#(\w+)/g)].map(([, name]) => name as Attribute));
  return {
    ExpressionAttributeNames: Object.fromEntries([...names].map((name) => [`#${name}`, ATTRIBUTES[name]])),
    ...(Object.keys(values).length === 0 ? {} : { ExpressionAttributeValues: { ...values } }),
  };
}
