/**
 * Colours and columns. Renderers produce plain text, and get colour as a function. Tests and pipes pass a function that
 * adds none.
 */
export type Ink = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Adds a colour to a text, or returns it unchanged. */
export type Paint = (ink: Ink, text: string) => string;

export const plain: Paint = (_, text) => text;

/** How to render: the current time, the page width, and the function that adds colour. */
export interface Style {
  readonly now: number;
  readonly paint: Paint;
  readonly width: number;
}

/** A column of a table, with its title and alignment. */
export interface Column {
  readonly title: string;
  readonly align?: "right";
}

/** A cell: its text, and the colour that it gets after padding. */
export type Cell = string | { readonly text: string; readonly ink: Ink };

/** A page with fewer columns shows a table that does not fit as a list of its rows, because wrapped rows cannot be read. */
const TABLE_PAGE_MIN = 72;

/** A table for a page of `width` columns: on a narrow page that it does not fit, each row becomes a block of pairs. */
export function fittedTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { paint, width }: Pick<Style, "paint" | "width">,
): string[] {
  const wide = Math.max(...table(columns, rows, plain).map(widthOf));
  if (width >= TABLE_PAGE_MIN || wide <= width) return table(columns, rows, paint);
  return rows.flatMap((row, index) => {
    const named = columns.map(({ title }, column) => [title, row[column] ?? ""] as const);
    const lines = named
      .filter(([, cell]) => textOf(cell) !== "")
      .map(([title, cell]) => [title, inkedText(cell, paint)] as const);
    return [...(index === 0 ? [] : [""]), ...pairs(lines, paint)];
  });
}

/** A table with titles. Each column is as wide as its widest cell, and no line ends in blanks. */
export function table(columns: readonly Column[], rows: readonly (readonly Cell[])[], paint: Paint): string[] {
  const widths = columns.map(({ title }, index) =>
    Math.max(widthOf(title), ...rows.map((row) => widthOf(textOf(row[index] ?? "")))),
  );
  const lineOf = (cells: readonly Cell[]): string => {
    const last = cells.findLastIndex((cell) => textOf(cell) !== "");
    const padded = columns.slice(0, last + 1).map(({ align }, index) => {
      const cell = cells[index] ?? "";
      const blanks = " ".repeat((widths[index] ?? 0) - widthOf(textOf(cell)));
      const inked = inkedText(cell, paint);
      if (align === "right") return blanks + inked;
      return index === last ? inked : inked + blanks;
    });
    return padded.join("  ");
  };
  const head = columns.map(({ title }): Cell => ({ text: title, ink: "dim" }));
  return [head, ...rows].map(lineOf);
}

/** Name-value pairs in two columns, without a title. */
export function pairs(rows: readonly (readonly [string, string])[], paint: Paint): string[] {
  const width = Math.max(...rows.map(([name]) => widthOf(name)));
  return rows.map(([name, text]) => `${paint("dim", name.padEnd(width))}  ${text}`);
}

const inkedText = (cell: Cell, paint: Paint): string => (typeof cell === "string" ? cell : paint(cell.ink, cell.text));

const textOf = (cell: Cell): string => (typeof cell === "string" ? cell : cell.text);

/** The width on a terminal, approximately: two columns for a character of East Asia or an emoji, none for a mark above a letter. */
export const widthOf = (text: string): number => [...text].reduce((sum, character) => sum + columnsOf(character), 0);

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

const columnsOf = (character: string): number => (WIDE.test(character) ? 2 : /\p{Mn}|\u200d/u.test(character) ? 0 : 1);
