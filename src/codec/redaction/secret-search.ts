/**
 * Searches a text for all forms of all declared secrets at once. The time depends on the length of the text, not on the
 * number of forms. A rolling hash of a few characters selects the positions where forms are compared in full.
 */

export interface SecretForm {
  readonly literal: string;
  readonly reference: string;
}

/** The position of a match, or of several that overlap. */
interface Found {
  readonly from: number;
  readonly to: number;
  readonly reference: string;
}

export interface Search {
  /** All matches in the order of the text; no two overlap. */
  readonly all: (text: string) => readonly Found[];
  /**
   * If the text ends with at least `charactersMin` first characters of a form, and at most `charactersMax`: where they
   * start. Otherwise null.
   */
  readonly begun: (
    text: string,
    charactersMin: number,
    charactersMax?: number,
  ) => { readonly from: number; readonly reference: string } | null;
}

/** At most this many first characters select the candidate forms, which are then compared as a whole. */
const HEAD_CHARACTERS_MAX = 64;
const BITS = 1 << 20;
const BASE = 0x01_00_01_93;

/** Builds a search for `forms`. Every literal must have at least `charactersMin` characters. */
export function searchFor(forms: readonly SecretForm[], charactersMin: number): Search {
  if (forms.length === 0) return { all: () => [], begun: () => null };
  const index = indexOf(forms, charactersMin);
  return { all: (text) => merged(matchesIn(text, index)), begun: begunIn(forms) };
}

interface Index {
  readonly length: number;
  readonly bits: Uint8Array;
  /** By the first `length` characters: the lengths of the heads that begin so, longest first. */
  readonly lengths: ReadonlyMap<string, readonly number[]>;
  /** The forms with a given head, longest first. */
  readonly heads: ReadonlyMap<string, readonly SecretForm[]>;
}

function indexOf(forms: readonly SecretForm[], length: number): Index {
  const bits = new Uint8Array(BITS >> 3);
  const lengths = new Map<string, number[]>();
  const heads = new Map<string, SecretForm[]>();
  for (const form of forms.toSorted((one, other) => other.literal.length - one.literal.length)) {
    const head = form.literal.slice(0, HEAD_CHARACTERS_MAX);
    const begin = head.slice(0, length);
    const bit = bitOf(hashOf(begin));
    bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7));
    grouped(heads, head).push(form);
    const known = grouped(lengths, begin);
    if (!known.includes(head.length)) known.push(head.length);
  }
  return { length, bits, lengths, heads };
}

function grouped<T>(groups: Map<string, T[]>, key: string): T[] {
  const found = groups.get(key) ?? [];
  groups.set(key, found);
  return found;
}

function hashOf(text: string): number {
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0;
  return hash;
}

const bitOf = (hash: number): number => (Math.imul(hash, 0x9e_37_79_b1) >>> 12) & (BITS - 1);

function matchesIn(text: string, index: Index): readonly Found[] {
  const { length, bits } = index;
  if (text.length < length) return [];
  const found: Found[] = [];
  let gone = 1;
  for (let count = 0; count < length; count += 1) gone = Math.imul(gone, BASE);
  let hash = hashOf(text.slice(0, length));
  for (let at = 0; ; at += 1) {
    const bit = bitOf(hash);
    if (((bits[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0) {
      const form = formAt(text, at, index);
      if (form !== null) found.push({ from: at, to: at + form.literal.length, reference: form.reference });
    }
    const next = at + length;
    if (next >= text.length) return found;
    hash = (Math.imul(hash, BASE) + text.charCodeAt(next) - Math.imul(gone, text.charCodeAt(at))) | 0;
  }
}

/** The longest form that begins at `at`. */
function formAt(text: string, at: number, { length, lengths, heads }: Index): SecretForm | null {
  for (const size of lengths.get(text.slice(at, at + length)) ?? []) {
    const form = heads.get(text.slice(at, at + size))?.find(({ literal }) => text.startsWith(literal, at));
    if (form !== undefined) return form;
  }
  return null;
}

/**
 * Merges overlapping matches; otherwise the end of a longer match would remain. The longest one gives the reference.
 */
function merged(matches: readonly Found[]): readonly Found[] {
  const all: Found[] = [];
  let longest = 0;
  for (const match of matches) {
    const last = all.at(-1);
    const size = match.to - match.from;
    if (last === undefined || match.from >= last.to) {
      all.push(match);
      longest = size;
      continue;
    }
    all[all.length - 1] = {
      from: last.from,
      to: Math.max(last.to, match.to),
      reference: size > longest ? match.reference : last.reference,
    };
    longest = Math.max(longest, size);
  }
  return all;
}

/** Only this many last characters of a text are searched for a truncated form. */
const CUT_CHARACTERS_MAX = 4_096;
const BEGIN_CHARACTERS = 3;

function begunIn(forms: readonly SecretForm[]): Search["begun"] {
  const begins = new Map<string, SecretForm[]>();
  for (const form of forms) grouped(begins, form.literal.slice(0, BEGIN_CHARACTERS)).push(form);
  const size = forms.reduce((most, { literal }) => Math.max(most, literal.length), 0);
  return (text, charactersMin, charactersMax = CUT_CHARACTERS_MAX) => {
    const longest = Math.min(charactersMax, size);
    for (let from = Math.max(0, text.length - longest + 1); text.length - from >= charactersMin; from += 1) {
      const tail = text.slice(from);
      const form = begins.get(tail.slice(0, BEGIN_CHARACTERS))?.find(({ literal }) => literal.startsWith(tail));
      if (form !== undefined) return { from, reference: form.reference };
    }
    return null;
  };
}
