/** What must hold of the runs of a campaign, by the store and by the services outside. */
import type { Json } from "../../../src/core/json.ts";
import { show } from "../../../src/operations/views.ts";
import type { World } from "../../../src/ports/world.ts";

/** One effect outside, by what it is for. */
export interface Outside {
  readonly tool: string;
  readonly subject: string;
}

/** A kind of run: how its task looks, what it does outside if nothing fails, and how it ends. */
export interface Kind {
  readonly name: string;
  readonly taskOf: (label: string) => Json;
  readonly effectsOf: (label: string) => readonly Outside[];
  readonly status: "completed" | "cancelled";
}

export interface StartedRun {
  readonly run: string;
  readonly label: string;
  readonly kind: Kind;
}

export interface Findings {
  /** Effects that happened more than once for one purpose. */
  readonly doubled: readonly string[];
  /** Effects that did not happen although their run says so; runs that are gone or have ended otherwise. */
  readonly lost: readonly string[];
  readonly stuck: readonly string[];
}

const nameOf = ({ tool, subject }: Outside): string => `${tool} of ${subject}`;

export async function findingsOf(
  world: World,
  runs: readonly StartedRun[],
  { outside, gaveUp }: { readonly outside: readonly Outside[]; readonly gaveUp: (effect: Outside) => boolean },
): Promise<Findings> {
  const counts = Map.groupBy(outside, nameOf);
  const doubled = [...counts].flatMap(([name, all]) => (all.length > 1 ? [`${name}: ${all.length} times`] : []));
  const [lost, stuck]: string[][] = [[], []];
  for (const { run, label, kind } of runs) {
    const shown = await show(world, run);
    const which = `${kind.name} ${label} (${run})`;
    if (shown === null) lost?.push(`${which} is gone`);
    else if (["completed", "failed", "cancelled"].includes(shown.status)) {
      const why = shown.failure === null ? "" : `: ${shown.failure.code}, ${shown.failure.message}`;
      if (shown.status !== kind.status) lost?.push(`${which} is ${shown.status}${why}`);
      // An operator said of a call that it did not happen, so its run goes on without it; a child's, too.
      const missing = kind.effectsOf(label).filter((effect) => !counts.has(nameOf(effect)) && !gaveUp(effect));
      // A run that says itself that a call failed claims nothing.
      if (missing.length > 0 && !JSON.stringify(shown.result).includes("failed"))
        lost?.push(`${which} has no ${missing.map(nameOf).join(", ")}`);
    } else stuck?.push(`${which} is ${shown.status}, ${shown.phase}`);
  }
  return { doubled, lost: lost ?? [], stuck: stuck ?? [] };
}
