/** Renders the entries of a memory. What models and strangers wrote is shown as text, and moves no cursor. */
import type { MemoryPage } from "../operations/memory.ts";
import type { MemoryEntry } from "../ports/memory.ts";
import { type Style, fittedTable, pairs } from "./paint.ts";
import { count, relative, short, timeOfDay, visible } from "./words.ts";

const TEXT_WIDTH_MIN = 24;
const TAGS_WIDTH_MAX = 30;

/**
 * A line about the memory, a table of its entries, and a line for each that cannot be read. `query`: what was searched
 * for; null: nothing. `forget`: the command that forgets an entry.
 */
export function renderMemory(
  page: MemoryPage,
  query: string | null,
  style: Style & { readonly forget: (id: string) => string },
): string {
  const { scope, entriesMax } = page;
  const title = `memory ${style.paint("bold", scope)}: ${count(page.count, "entry", "entries")} of at most ${entriesMax}`;
  const damaged = page.damaged.map((id) => `${visible(id)} cannot be read; remove it: ${style.forget(id)}`);
  return [title, ...entriesIn(page, query, style), ...damaged].join("\n");
}

function entriesIn({ entries, ...page }: MemoryPage, query: string | null, style: Style): readonly string[] {
  if (page.count === 0) return [EMPTY];
  if (entries.length === 0) return query === null ? [] : [`no entry has a word of: ${visible(query)}`];
  const found = query === null ? [] : [`the best ${entries.length} for ${visible(query)}:`];
  const rows = entries.map(({ id, at, tags, snippet }) => [
    id,
    timeOfDay(at, style.now),
    short(visible(tags.join(", ")), TAGS_WIDTH_MAX),
    visible(snippet),
  ]);
  const others = [0, 1, 2].reduce(
    (sum, column) => sum + 2 + Math.max(4, ...rows.map((row) => row[column]?.length ?? 0)),
    0,
  );
  const width = Math.max(TEXT_WIDTH_MIN, style.width - others);
  const columns = ["ID", "WRITTEN", "TAGS", "TEXT"].map((name) => ({ title: name }));
  const cells = rows.map(([id = "", at = "", tags = "", text = ""]) => [id, at, tags, short(text, width)]);
  return [...found, ...fittedTable(columns, cells, style)];
}

/** The lines that `--json` prints of a page. */
export const memoryLines = ({ entries, damaged }: MemoryPage) => [
  ...entries,
  ...damaged.map((id) => ({ id, damaged: "it cannot be read" })),
];

const EMPTY =
  "nothing is kept yet: a run keeps what memory.learn of its agent returns, and a tool what it gives memory.put";

export function renderEntry(scope: string, entry: MemoryEntry, style: Style): string {
  const { id, at, tags, source, etag, text } = entry;
  const rows: (readonly [string, string])[] = [
    ["memory", scope],
    ["id", id],
    ["written", `${timeOfDay(at, style.now)} (${relative(at, style.now)})`],
    ...(tags.length === 0 ? [] : [["tags", visible(tags.join(", "))] as const]),
    ...(source === undefined ? [] : [["source", visible(source)] as const]),
    ...(etag === undefined ? [] : [["version of the source", visible(etag)] as const]),
  ];
  return [...pairs(rows, style.paint), "", ...text.split("\n").map(visible)].join("\n");
}
