/**
 * Lists the forms that a declared secret may take in a text: plain, escaped, encoded, and encoded twice. The number of
 * forms per value is bounded (`FORMS_MAX`), whatever the value contains.
 */

/** Longer values are searched only as they are and in JSON, URLs, base64 and hex, because each form takes memory. */
const RARE_CHARACTERS_MAX = 512;

/** The maximum number of forms of one value; a test checks it. */
export const FORMS_MAX = 74;

/**
 * All forms of a secret value. A value that has fewer than `charactersMin` characters after trimming is not trimmed.
 */
export function formsOf(value: string, charactersMin: number): ReadonlySet<string> {
  const trimmed = value.trim();
  const plain = trimmed.length < charactersMin ? value : trimmed;
  const usual = [value, plain, ...inJson(value), ...inAddresses(value), ...base64Of(plain), ...hexOf(plain)];
  return new Set(plain.length > RARE_CHARACTERS_MAX ? usual : [...usual, ...rare(plain)]);
}

const rare = (value: string): readonly string[] => [
  // PHP escapes slashes in JSON.
  quoted(value).replaceAll("/", "\\/"),
  ...[encodeTwice(value)].flatMap((each) => [each, lowerEscapes(each)]),
  ...inUnicodeEscapes(value),
  ...inEntities(value),
  ...base64Twice(value),
];

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Escaped once, as in JSON, and twice, as in JSON within JSON. */
const inJson = (value: string): readonly string[] => [quoted(value), quoted(quoted(value))];

const encode = (value: string): string => encodeURIComponent(value.toWellFormed());
const encodeTwice = (value: string): string => encode(encode(value));
const lowerEscapes = (encoded: string): string =>
  encoded.replaceAll(/%(?:25)?[0-9A-F]{2}/g, (escape) => escape.toLowerCase());

/** Percent-encoded, as in a URL or a form: libraries differ in which characters they leave unescaped. */
function inAddresses(value: string): readonly string[] {
  const encoded = encode(value);
  const strict = encoded.replaceAll(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
  const spaces = [encoded, strict].map((each) => each.replaceAll("%20", "+"));
  return [encoded, lowerEscapes(encoded), strict, ...spaces];
}

const unitsOf = (value: string): readonly number[] =>
  Array.from({ length: value.length }, (_, index) => value.charCodeAt(index));

/** With Unicode escapes for all characters, for non-ASCII ones, or for those special in HTML: libraries differ. */
function inUnicodeEscapes(value: string): readonly string[] {
  const escapesOf = (digits: (unit: number) => string): readonly string[] => {
    const one = (unit: number): string => `\\u${digits(unit)}`;
    const some = (what: RegExp): string => quoted(value).replaceAll(what, (unit) => one(unit.charCodeAt(0)));
    return [
      unitsOf(value).map(one).join(""),
      some(/[\u0080-\uffff]/g),
      some(/[<>&\u2028\u2029]/g),
      some(/[<>&'\u0080-\uffff]/g),
    ];
  };
  const hex = (unit: number): string => unit.toString(16).padStart(4, "0");
  return [...escapesOf(hex), ...escapesOf((unit) => hex(unit).toUpperCase())];
}

const ENTITIES: Readonly<Record<string, readonly [named: string, numbered: string]>> = {
  "&": ["&amp;", "&#38;"],
  "<": ["&lt;", "&#60;"],
  ">": ["&gt;", "&#62;"],
  '"': ["&quot;", "&#34;"],
  "'": ["&#39;", "&#39;"],
};

function inEntities(value: string): readonly string[] {
  const escaped = (at: 0 | 1, characters: RegExp): string =>
    value.replaceAll(characters, (each) => ENTITIES[each]?.[at] ?? each);
  const points = [...value].map((each) => each.codePointAt(0) ?? 0);
  const named = escaped(0, /[&<>"']/g);
  return [
    named,
    named.replaceAll("&#39;", "&#x27;"),
    named.replaceAll("&#39;", "&apos;"),
    escaped(0, /[&<>]/g),
    escaped(0, /[&<>"]/g),
    escaped(1, /[&<>"']/g),
    points.map((point) => `&#${point};`).join(""),
    points.map((point) => `&#x${point.toString(16)};`).join(""),
    points.map((point) => `&#x${point.toString(16).toUpperCase()};`).join(""),
  ];
}

function hexOf(value: string): readonly string[] {
  const hex = Buffer.from(value, "utf8").toString("hex");
  return [hex, hex.toUpperCase()];
}

/**
 * Three alignments each: bytes before the value in the same base64 text shift it by zero, one or two bytes. Characters
 * at its ends also encode neighbouring bytes, so they are left out.
 */
const base64Of = (value: string): readonly string[] => {
  const bytes = Buffer.from(value, "utf8");
  return alignmentsOf(bytes).flatMap((own) => [own, urlSafe(own)]);
};

const base64Twice = (value: string): readonly string[] => base64Of(value).flatMap((once) => base64Of(once));

const urlSafe = (base64: string): string => base64.replaceAll("+", "-").replaceAll("/", "_");

const alignmentsOf = (bytes: Buffer): readonly string[] =>
  [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replaceAll("=", "");
    return whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
