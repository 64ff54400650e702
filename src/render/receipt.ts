/** Renders the receipt of a run. */
import type { AwsShare } from "../history/aws-share.ts";
import type { Amount } from "../history/receipt.ts";
import type { RunReceipt } from "../history/run-receipt.ts";
import { type Cell, type Style, fittedTable } from "./paint.ts";
import { count, dollars, grouped } from "./words.ts";

export function renderReceipt({ lines, total, takeovers, spared, again, aws }: RunReceipt, page: Style): string {
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
  said.push("", ...awsLines(aws, page));
  if (takeovers > 0) said.push("", sparedWords(takeovers, spared));
  if (again.tokensIn + again.toolCalls > 0) said.push("", againWords(again));
  return said.join("\n");
}

/** One line for the end of a timeline. */
export function receiptLine({ total, takeovers, spared, aws }: RunReceipt): string {
  const saved = takeovers > 0 ? `; its recoveries spared ${dollars(Math.round(spared.usd * 1e6))}` : "";
  return `it spent ${dollars(Math.round(total.usd * 1e6))}, and on AWS ${awsDollars(aws.usd)} of services${saved}`;
}

function awsLines({ lines, usd, basis, region, pricesOf }: AwsShare, page: Style): readonly string[] {
  const columns = [{ title: "ON AWS" }, { title: "COUNT", align: "right" }, { title: "COST", align: "right" }] as const;
  const rows = lines.map(({ item, count: n, usd: each }): Cell[] => [item, countWords(n), awsDollars(each)]);
  const table = fittedTable(columns, [...rows, ["in all", "", awsDollars(usd)]], page);
  return [...table, `${basis}, at the list prices of ${region} on ${pricesOf}`];
}

/** A run costs fractions of a cent. */
const awsDollars = (usd: number): string => `$${usd.toFixed(6)}`;

const countWords = (n: number): string => (Number.isInteger(n) ? grouped(n) : n.toFixed(3));

const amountCells = ({ usd, tokensIn, tokensOut, toolCalls }: Amount): Cell[] => [
  ...[tokensIn, tokensOut, toolCalls].map((n) => (n === 0 ? "-" : grouped(n))),
  dollars(Math.round(usd * 1e6)),
];

const againWords = (again: Amount): string => `a restart would spend ${amountWords(again)} again.`;

const amountWords = ({ usd, tokensIn, tokensOut, toolCalls }: Amount): string =>
  `${dollars(Math.round(usd * 1e6))}, ${count(tokensIn + tokensOut, "token")} and ${count(toolCalls, "tool call")}`;

/** What the run would have spent a second time if each death had begun it anew. */
const sparedWords = (takeovers: number, spared: Amount): string =>
  `${count(takeovers, "process death")} would have cost ${amountWords(spared)} again, if the run had begun anew each time.`;
