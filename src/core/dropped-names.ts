/** What a schema drops of the JSON that it gets: the names of its members, as paths. */
import type { Json } from "./json.ts";

/** The most names that are listed. */
const NAMES_MAX = 20;

/**
 * The paths of the members that `given` has and `made` lacks: what a schema dropped. `made` is a value or a projection.
 * Where the schema made something of another form, nothing counts as dropped: both forms are shown.
 */
export function droppedNames(given: Json, made: Json): readonly string[] {
  const found: string[] = [];
  const compare = (before: Json, after: Json, path: readonly string[]): void => {
    if (found.length >= NAMES_MAX || !isNested(before) || !isNested(after)) return;
    if (Array.isArray(before) !== Array.isArray(after)) return;
    const names = Object.keys(before);
    if (Array.isArray(before) && names.length !== Object.keys(after).length) return;
    for (const name of names) {
      if (Object.hasOwn(after, name)) {
        compare(Reflect.get(before, name) as Json, Reflect.get(after, name) as Json, [...path, name]);
      } else if (found.length < NAMES_MAX) {
        found.push([...path, name].join("."));
      }
    }
  };
  compare(given, made, []);
  return found;
}

const isNested = (json: Json): json is Exclude<Json, string | number | boolean | null> =>
  typeof json === "object" && json !== null;

/** The path of the first member named `__proto__`, which most schemas drop in silence; null if there is none. */
export function protoIn(json: Json): string | null {
  if (!isNested(json)) return null;
  for (const name of Object.keys(json)) {
    const inside = name === "__proto__" ? "" : protoIn(Reflect.get(json, name) as Json);
    if (inside !== null) return inside === "" ? name : `${name}.${inside}`;
  }
  return null;
}

export const NO_PROTO = "schemas drop that name, so nothing would ever see its value; use another name";
