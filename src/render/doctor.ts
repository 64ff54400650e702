/** Renders the result of `cairn doctor`: one line for each check, and a repair hint below each that is not ok. */
import type { Judged, CheckStatus } from "../ports/diagnosis.ts";
import type { Ink, Paint } from "./paint.ts";
import { count } from "./words.ts";

/** The result of `cairn doctor`; also its JSON document. */
export interface Examined {
  /** The version of cairn that made the checks. */
  readonly cairn: string;
  /** The name of the checked world. */
  readonly world: string;
  readonly production: boolean;
  /** No check failed. */
  readonly ok: boolean;
  readonly checks: readonly Judged[];
  /** Further facts to know, which no check covers. */
  readonly hints: readonly string[];
}

const MARKS: { readonly [S in CheckStatus]: { readonly mark: string; readonly ink: Ink } } = {
  ok: { mark: "✔", ink: "green" },
  warn: { mark: "!", ink: "yellow" },
  fail: { mark: "✖", ink: "red" },
  unknown: { mark: "?", ink: "cyan" },
};

export function renderExamined({ cairn, world, checks, hints, ok }: Examined, paint: Paint): string {
  const of = (status: CheckStatus): number => checks.filter((check) => check.status === status).length;
  const [warns, fails, unknowns] = [of("warn"), of("fail"), of("unknown")];
  const width = Math.max(...checks.map(({ id }) => id.length));
  const parts = [
    `${of("ok")} ok`,
    ...(warns > 0 ? [count(warns, "warning")] : []),
    ...(fails > 0 ? [`${fails} failed`] : []),
    ...(unknowns > 0 ? [`${unknowns} unknown`] : []),
  ];
  return [
    ...checks.flatMap((check) => linesOf(check, { paint, width })),
    ...(hints.length > 0 ? [""] : []),
    ...hints.map((hint) => paint("dim", hint)),
    "",
    `${paint(ok ? "green" : "red", parts.join(", "))}${paint("dim", `  (cairn ${cairn}, world ${world})`)}`,
  ].join("\n");
}

function linesOf(
  { id, status, why, mend }: Judged,
  { paint, width }: { readonly paint: Paint; readonly width: number },
): readonly string[] {
  const { mark, ink } = MARKS[status];
  const line = `${paint(ink, mark)} ${id.padEnd(width)}  ${status === "ok" ? paint("dim", why) : why}`;
  return mend === null ? [line] : [line, `${" ".repeat(width + 4)}${paint("dim", "→")} ${mend}`];
}
