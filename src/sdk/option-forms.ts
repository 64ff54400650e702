/**
 * What the options of a definition may be. Agent files run without a type check, and may be JavaScript: each definition has
 * one table, and an option that is not as the table says is refused when the file loads.
 */
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { refuseUnknown } from "./known-options.ts";

/** What an option may be, and how an error says it. */
export interface OptionForm {
  readonly says: string;
  readonly holds: (value: unknown) => boolean;
  /** The first item of a list that is wrong; absent or -1: the value is wrong as a whole. */
  readonly wrongAt?: (value: unknown) => number;
}

export type Forms = Readonly<Record<string, OptionForm>>;

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
/** What is in a map, a set or a promise is no member of it. */
const isRecord = (value: unknown): boolean =>
  isObject(value) && ![Array, Map, Set, Promise].some((kind) => value instanceof kind);

export const TEXT: OptionForm = { says: "a text", holds: (value) => typeof value === "string" };
export const NUMBER: OptionForm = { says: "a number", holds: (value) => typeof value === "number" };
export const FLAG: OptionForm = { says: "true or false", holds: (value) => typeof value === "boolean" };
export const FUNCTION: OptionForm = { says: "a function", holds: (value) => typeof value === "function" };
export const RECORD: OptionForm = { says: "an object { ... }", holds: isRecord };
export const ZOD_SCHEMA: OptionForm = {
  says: "a zod schema, such as z.object({ ... })",
  // Where it is read, one of zod 3 gets words of its own.
  holds: isRecord,
};

export const oneOf = (...values: readonly string[]): OptionForm => ({
  says: values.map((each) => JSON.stringify(each)).join(" or "),
  holds: (value) => typeof value === "string" && values.includes(value),
});

export const orNull = ({ says, holds }: OptionForm): OptionForm => ({
  says,
  holds: (value) => value === null || holds(value),
});

export const anyForm = (...forms: readonly OptionForm[]): OptionForm => ({
  says: forms.map(({ says }) => says).join(" or "),
  holds: (value) => forms.some(({ holds }) => holds(value)),
});

export const listOf = (form: OptionForm, says: string): OptionForm => ({
  says,
  holds: (value) => Array.isArray(value) && value.every((each) => form.holds(each)),
  wrongAt: (value) => (Array.isArray(value) ? value.findIndex((each) => !form.holds(each)) : -1),
});

/** A list of which no two items have the same name. */
export const namedApart = ({ holds, ...form }: OptionForm): OptionForm => ({
  ...form,
  holds: (value) => holds(value) && new Set(namesIn(value)).size === namesIn(value).length,
  wrongAt: (value) => {
    const names = namesIn(value);
    const at = form.wrongAt?.(value) ?? -1;
    return at >= 0 ? at : names.findIndex((name, index) => names.indexOf(name) !== index);
  },
});

const namesIn = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value.map((each: unknown) => (isObject(each) && "name" in each ? each.name : each)) : [];

/** An object that has these members at least. */
export const withMembers = (says: string, members: Readonly<Record<string, OptionForm>>): OptionForm => ({
  says,
  holds: (value) =>
    isRecord(value) &&
    Object.entries(members).every(([name, { holds }]) => holds((value as Record<string, unknown>)[name])),
});

/** A schema that is parsed at once. */
export const PARSED_AT_ONCE: OptionForm = {
  says: "a zod schema without an async refine or transform, since values are parsed at once; look outside in a function that gets the value",
  holds: (value) => ZOD_SCHEMA.holds(value) && !hasAsyncPart(value),
};

/** A function whose result is used at once: a promise of it would be taken for the result. */
export const SYNCHRONOUS: OptionForm = {
  says: "a function that is not async, since its result is used at once",
  holds: (value) => typeof value === "function" && value.constructor.name !== "AsyncFunction",
};

/** Refuses what is no object of options at all, such as a call without any. */
export function refuseNoOptions(whose: string, given: unknown): void {
  if (!isRecord(given)) throw new AgentInvalid(`${whose} has ${shown(given)} in place of its options: write { ... }`);
}

/**
 * Throws `AgentInvalid` for the first option that is not as its form says.
 *
 * @param whose - the definition that has the option, such as `agent travel`
 */
export function checkForms(whose: string, given: object, forms: Forms): void {
  const options: Readonly<Record<string, unknown>> = { ...given };
  for (const [option, { says, holds, wrongAt }] of Object.entries(forms)) {
    const value = options[option];
    if (value === undefined || holds(value)) continue;
    const at = wrongAt?.(value) ?? -1;
    const wrong = at < 0 ? `${option} ${shown(value)}` : `${option}[${at}] ${shown((value as readonly unknown[])[at])}`;
    throw new AgentInvalid(`${whose} has ${wrong}: write ${says}`);
  }
}

/** Checks all options of a definition. `forms` has each option that there is, and `needed` names those that must be there. */
export function checkDefined(whose: string, given: object, { forms, needed = [] }: DefinitionForms): void {
  refuseNoOptions(whose, given);
  refuseUnknown(whose, given, forms);
  refuseMissing(whose, given, { forms, needed });
  checkForms(whose, given, forms);
}

export function refuseMissing(whose: string, given: object, { forms, needed = [] }: DefinitionForms): void {
  const missing = needed.find((option) => (given as Readonly<Record<string, unknown>>)[option] === undefined);
  if (missing !== undefined) throw new AgentInvalid(`${whose} has no ${missing}: write ${forms[missing]?.says}`);
}

export interface DefinitionForms {
  readonly forms: Forms;
  readonly needed?: readonly string[];
}

const SHOWN_MAX = 60;

/** What was given, bounded. Objects are shown by their kind, since they may hold anything. */
export function shown(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX)}...` : value);
  }
  if (typeof value === "function") return "(a function)";
  if (Array.isArray(value)) return "(a list)";
  if (!isObject(value)) return String(value);
  const { name = "Object" } = (value.constructor as { readonly name?: string } | undefined) ?? {};
  return name === "Object" ? "(an object)" : `(an object of ${name.slice(0, SHOWN_MAX)})`;
}

/** Whether a part of the schema is an async function. Its parts are not typed: a schema may come from another zod. */
function hasAsyncPart(schema: unknown): boolean {
  const seen = new Set<unknown>();
  const isAsync = (part: unknown): boolean => {
    if (typeof part === "function" && part.constructor.name === "AsyncFunction") return true;
    if (typeof part !== "object" || part === null || seen.has(part) || seen.size > PARTS_MAX) return false;
    seen.add(part);
    const { _zod: inner } = part as { readonly _zod?: Inner };
    if (inner !== undefined) return isAsync(inner.check) || isAsync(inner.def) || isAsync(laterIn(inner.def));
    const isPlain = Array.isArray(part) || Object.getPrototypeOf(part) === Object.prototype;
    return isPlain && Object.values(part).some(isAsync);
  };
  return isAsync(schema);
}

/** Of a schema, and of one of its checks, whose function is `check`. */
interface Inner {
  readonly def?: { readonly type?: unknown; readonly getter?: unknown };
  readonly check?: unknown;
}

/** What a schema gives only when it is used: that of `z.lazy`; that of `z.promise` is async. */
function laterIn(def: Inner["def"]): unknown {
  if (def?.type === "promise") return async () => {};
  try {
    return def?.type === "lazy" && typeof def.getter === "function" ? (def.getter as () => unknown)() : null;
  } catch {
    // It may name what the file defines below it.
    return null;
  }
}

/** A schema that is larger than this is not looked through further. */
const PARTS_MAX = 10_000;
