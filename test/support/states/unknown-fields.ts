/** Data of a newer version of cairn with the same format: every object has a field that this code does not know. */

/** Values of users and providers, in which cairn has no fields. */
const OPAQUE: ReadonlySet<string> = new Set(["json", "provider", "future"]);

export const UNKNOWN_FIELD = { since: "a later version" } as const;

/** The same value with an unknown field in every object. */
export function withUnknownFields<T>(value: T): T {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(withUnknownFields) as T;
  const fields = Object.entries(value).map(([name, field]) => [
    name,
    OPAQUE.has(name) ? field : withUnknownFields(field),
  ]);
  return { ...Object.fromEntries(fields), future: UNKNOWN_FIELD } as T;
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);

/** The paths of objects that are in `before` and `after` but lost their unknown field. */
export function lostFields(before: unknown, after: unknown, path = ""): readonly string[] {
  if (Array.isArray(before) && Array.isArray(after)) {
    const others = new Map(after.map((each, index) => [nameOf(each, index), each as unknown]));
    return before.flatMap((each, index) => {
      const name = nameOf(each, index);
      return others.has(name) ? lostFields(each, others.get(name), `${path}[${name}]`) : [];
    });
  }
  if (!isFields(before) || !isFields(after)) return [];
  const here = "future" in before && !("future" in after) ? [path === "" ? "the whole" : path] : [];
  const below = Object.keys(before).filter((name) => !OPAQUE.has(name));
  return [...here, ...below.flatMap((name) => lostFields(before[name], after[name], `${path}.${name}`))];
}

/** The identity of a list element; its index if it has none. */
function nameOf(element: unknown, index: number): string {
  if (!isFields(element)) return String(index);
  const { id, call, version } = element;
  return String(id ?? call ?? version ?? index);
}

/** The same value without what `fromFuture` added. */
export function withoutUnknownFields<T>(value: T): T {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(withoutUnknownFields) as T;
  const { future: _, ...fields } = value as Fields;
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, withoutUnknownFields(field)])) as T;
}
