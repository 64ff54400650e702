/**
 * The names of a deployment's agents, in the description of its function `beat`. Whoever looks at a deployment from
 * another folder reads there what was deployed; a variable would cost Lambda's 4 KB of environment.
 */
import { createHash } from "node:crypto";

/** In characters (AWS Lambda API, `CreateFunction`, "Description"). */
const DESCRIPTION_MAX = 256;
const DIGEST_DIGITS = 12;
const CUT = "…";

/** What a description says of the agents. */
export interface DescribedAgents {
  /** Sorted. Not all of them if there are many. */
  readonly names: readonly string[];
  readonly isWhole: boolean;
  /** Of all names. */
  readonly digest: string;
}

export function describedAs(agents: readonly string[]): string {
  const names = agents.toSorted();
  const head = `cairn: beat; agents ${digestOf(names)}: `;
  const whole = head + names.join(", ");
  if (whole.length <= DESCRIPTION_MAX) return whole;
  let text = head;
  for (const name of names) {
    if (text.length + name.length + 2 + CUT.length > DESCRIPTION_MAX) break;
    text += `${name}, `;
  }
  return text + CUT;
}

/** Null if the description names no agents: another program, or a version before this one, wrote it. */
export function agentsDescribed(description: string): DescribedAgents | null {
  const [, digest, list] = /^cairn: beat; agents ([0-9a-f]+): (.*)$/u.exec(description) ?? [];
  if (digest === undefined || list === undefined) return null;
  const names = list.split(", ").filter((name) => name !== "");
  const isWhole = names.at(-1) !== CUT;
  return { names: isWhole ? names : names.slice(0, -1), isWhole, digest };
}

/** Whether these are exactly the agents that are described. */
export const areDescribed = (agents: readonly string[], { digest }: DescribedAgents): boolean =>
  digestOf(agents.toSorted()) === digest;

const digestOf = (sorted: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(sorted)).digest("hex").slice(0, DIGEST_DIGITS);
