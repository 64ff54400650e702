/**
 * The researcher of the example, whose fetches wait at a gate: the file `gate` in the library says how many of them may
 * be made. So a test that kills its processes is never late, however slow the machine is.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";
import { literatureReview } from "../../../agents/literature-review/agent.ts";
import { requestsIn } from "../../../agents/literature-review/library.ts";
import type { Agent, Tool } from "../../../src/ports/agent.ts";

/** A look opens the file of the library. */
const LOOK_MS = 50;

/** The fetches that the library has seen, by section and answer. */
export const fetchesOf = (dir: string) => requestsIn(dir).filter(({ what }) => what === "fetch");

/** Lets that many fetches through. */
export const openGate = (dir: string, fetches: number): void => writeFileSync(join(dir, "gate"), String(fetches));

/** Without a gate, everything passes. */
function isOpen(dir: string): boolean {
  const gate = join(dir, "gate");
  return !existsSync(gate) || fetchesOf(dir).length < Number(readFileSync(gate, "utf8"));
}

/** The process whose call waits at the gate; null if none has waited yet. */
export function waitingAt(dir: string): number | null {
  const mark = join(dir, "waits");
  return existsSync(mark) ? Number(readFileSync(mark, "utf8")) || null : null;
}

async function pass(dir: string, signal: AbortSignal): Promise<void> {
  if (isOpen(dir)) return;
  writeFileSync(join(dir, "waits"), String(process.pid));
  while (!isOpen(dir)) await elapse(LOOK_MS, undefined, { signal });
}

const { tools, ...rest } = literatureReview as Agent;
const fetchSection = tools["fetchSection"] as Tool;

export const gatedReview: Agent = {
  ...rest,
  name: "gated-review",
  tools: {
    ...tools,
    fetchSection: {
      ...fetchSection,
      run: async (context) => {
        await pass(process.env["LIBRARY"] ?? "", context.signal);
        return fetchSection.run(context);
      },
    },
  },
};
