/**
 * Reads and replaces the generated parts of a page, between `<!-- NAME:begin -->` and `<!-- NAME:end -->`. A script
 * generates each part, so the page always matches its source.
 */
const markOf = (name: string, end: "begin" | "end"): string => `<!-- ${name}:${end} -->`;

interface Place {
  readonly from: number;
  readonly to: number;
}

/** The text between the marks of that name. */
export function partOf(page: string, name: string): string {
  const { from, to } = placeOf(page, name);
  return page.slice(from, to).replace(/^\n|\n$/g, "");
}

/** The page with a new text between the marks of that name. */
export function withPart(page: string, of: { readonly name: string; readonly part: string }): string {
  const { from, to } = placeOf(page, of.name);
  return `${page.slice(0, from)}\n${of.part}\n${page.slice(to)}`;
}

function placeOf(page: string, name: string): Place {
  const [begin, end] = [markOf(name, "begin"), markOf(name, "end")];
  const [from, to] = [page.indexOf(begin) + begin.length, page.indexOf(end)];
  if (from < begin.length || to < from) throw new Error(`the page has no ${begin} before a ${end}`);
  return { from, to };
}
