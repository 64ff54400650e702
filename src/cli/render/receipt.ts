/** Renders the receipt of a run. */
import type { Amount, Receipt } from "../../history/receipt.ts";
import { type Cell, type Style, fittedTable } from "../terminal/paint.ts";
import { count, dollars, grouped } from "./words.ts";

export function renderReceipt({ lines, total, takeovers, spared }: Receipt, page: Style): string {
  const columns = [
    { title: "FOR" },
    { title: "TIMES", align: "right" },
    { title: "TOKENS IN", align: "right" },
    { title: "TOKENS OUT", align: "right" },
    { title: "TOOL CALLS", align: "right" },
    { title: "COST", align: "right" },
  ] as const;
  const rows = lines.map((line): Cell[] => [line.for, String(line.times), ...amountCells(line)]);
  const sum: Cell[] = ["in all", "", ...amountCells(total)];
  const said = fittedTable(columns, [...rows, sum], page);
  if (takeovers > 0) said.push("", sparedWords(takeovers, spared));
  return said.join("\n");
}

const amountCells = ({ usd, tokensIn, tokensOut, toolCalls }: Amount): Cell[] => [
  ...[tokensIn, tokensOut, toolCalls].map((n) => (n === 0 ? "-" : grouped(n))),
  dollars(Math.round(usd * 1e6)),
];

/** What the run would have spent a second time if each death had begun it anew. */
function sparedWords(takeovers: number, { usd, tokensIn, tokensOut, toolCalls }: Amount): string {
  const cost = dollars(Math.round(usd * 1e6));
  const work = `${count(tokensIn + tokensOut, "token")} and ${count(toolCalls, "tool call")}`;
  return `${count(takeovers, "process death")} would have cost ${cost}, ${work} again, if the run had begun anew each time.`;
}
