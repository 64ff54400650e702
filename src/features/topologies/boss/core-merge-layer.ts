/**
 * The layer that merges memos. A boss that reads all memos at once becomes a bottleneck: its prompt grows with the
 * number of its workers. So memos are merged in batches, and the summaries of batches are merged again. No section shows
 * more than one batch.
 */
import type { Context } from "../../../core/topologies/topology.ts";

/** What is merged: the memo of a call, or the summary in a message. */
export type Item = { readonly kind: "memo" | "summary"; readonly id: string };

/** One pass over the items. `left`: not merged yet. `made`: what the pass has made so far. */
export type Pass = { readonly left: readonly Item[]; readonly made: readonly Item[] };

/** How much of one item a section shows. A memo that is longer belongs into a store, with a reference in the memo. */
const ITEM_CHARACTERS_MAX = 4_000;

/** The most items that one section shows, in characters at most the size of a message. */
export const BATCH_MAX = 12;

/** The pass that the items need; null: they fit one section. */
export const passOver = (items: readonly Item[], batch: number): Pass | null =>
  items.length <= batch ? null : { left: items, made: [] };

/** The items that are merged now. */
export const batchOf = ({ left }: Pass, batch: number): readonly Item[] => left.slice(0, batch);

/**
 * The pass after the batch was merged into that message. A single item that is left over is not summarised again. Null
 * `pass`: the pass is over, and `items` are what it made.
 */
export function afterBatch(
  { left, made }: Pass,
  { batch, message }: { readonly batch: number; readonly message: string },
): { readonly pass: Pass | null; readonly items: readonly Item[] } {
  const rest = left.slice(batch);
  const items: readonly Item[] = [...made, { kind: "summary", id: message }];
  if (rest.length > 1) return { pass: { left: rest, made: items }, items };
  const all = [...items, ...rest];
  return { pass: passOver(all, batch), items: all };
}

/** The items in words. */
export const inWords = (items: readonly Item[], context: Context): string =>
  items.map((item, index) => `${index + 1}. ${wordsOf(item, context)}`).join("\n\n");

/** A memo may not say what it is about, so its task comes with it. */
function wordsOf({ kind, id }: Item, { textOf, resultOf, argsOf }: Context): string {
  return kind === "memo" ? `The task ${argsOf(id)} gave:\n${bounded(resultOf(id))}` : bounded(textOf(id));
}

function bounded(words: string): string {
  if (words.length <= ITEM_CHARACTERS_MAX) return words;
  return `${words.slice(0, ITEM_CHARACTERS_MAX)} … (${words.length} characters, of which these are the first)`;
}
