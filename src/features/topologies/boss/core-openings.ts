/** What the roles of a boss are given: the message that opens each section. */
import { type BossOptions, type BossProgress, isAlone } from "./core-options.ts";
import { batchOf, inWords } from "./core-merge-layer.ts";
import type { Context } from "../../../core/topologies/topology.ts";

/** `1 memo`, `2 memos`. */
export const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

export const SUMMARISE =
  "Summarise the reports in one text that keeps every fact and figure. Answer with the text alone.";

/** What each role is given. No section shows more than one batch. */
export function opening(progress: BossProgress, options: BossOptions, context: Context): string {
  const { role, items, pass, wish } = progress;
  const also = wish === "" ? [] : [`Also wanted:\n${wish}`];
  const missing = missingInWords(progress, context);
  switch (role) {
    case "summary":
      return `Summarise these reports:\n\n${inWords(pass === null ? items : batchOf(pass, options.batch), context)}`;
    case "merger":
      return [`Write the answer from these reports:\n\n${inWords(items, context)}`, ...missing, ...also].join("\n\n");
    case "boss":
      return [
        ...(items.length === 0 ? [] : [`Reports so far:\n\n${inWords(items, context)}`]),
        ...missing,
        ...also,
        capsInWords(progress, options),
      ].join("\n\n");
  }
}

/** What no report covers, so that neither the boss nor the answer passes over it. */
function missingInWords({ lost, unmade }: BossProgress, { argsOf, resultOf }: Context): readonly string[] {
  const failed = listed(lost.map((call) => `${argsOf(call)}: ${shortened(resultOf(call))}`));
  const refused = listed(unmade.map((call) => `${argsOf(call)}: ${resultOf(call)}`));
  return [
    ...(lost.length === 0 ? [] : [`These hand-offs gave no usable report:\n${failed}`]),
    ...(unmade.length === 0 ? [] : [`These calls were refused and handed out nothing:\n${refused}`]),
  ];
}

/** What is wrong with a report comes first. What its child run did is in the result of the call. */
const WHY_CHARACTERS_MAX = 300;

const shortened = (why: string): string =>
  why.length <= WHY_CHARACTERS_MAX ? why : `${why.slice(0, WHY_CHARACTERS_MAX)}…`;

/** More lines would let the section grow with the number of workers. */
const LINES_MAX = 20;

function listed(lines: readonly string[]): string {
  const more = lines.length > LINES_MAX ? [`and ${lines.length - LINES_MAX} more`] : [];
  return [...lines.slice(0, LINES_MAX), ...more].map((line) => `- ${line}`).join("\n");
}

export function capsInWords(progress: BossProgress, options: BossOptions): string {
  if (isAlone(progress, options))
    return "No round is left to hand out work in. Do the work yourself, or say what is missing.";
  const { round, memos, lost, unmade, sharded } = progress;
  const { workers, shards = [], rounds, handOffsMax, fanOut } = options;
  const left = Math.min(fanOut, handOffsMax - memos.length - lost.length);
  const names = [...new Set([...(sharded ? [] : workers), ...shards])].join(", ");
  const first = `Hand out work by calling ${names}: all calls in one reply, ${left} at most, each with a part of its own.`;
  const isNoneMade = memos.length + lost.length === 0;
  if (isNoneMade && unmade.length > 0)
    return `${first} Begin with what was not handed out. Rounds left: ${rounds - round}. What no worker takes, do yourself.`;
  if (isNoneMade) return first;
  if (unmade.length > 0)
    return `${first} Begin with what was not handed out. If nothing is missing, reply without a call.`;
  return `${first} Rounds left: ${rounds - round}. If nothing is missing, reply without a call.`;
}
