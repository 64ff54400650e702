/**
 * Accepts the version that a pinned run waits for. The acceptance is a message, so it is delivered once, survives a
 * crash and records its author. It names the version that the operator saw, so it can never accept another one
 * (schedule 54).
 */
import { upgradesOf } from "../core/policy/holds.ts";
import { upgradeId } from "../protocol/ids.ts";
import type { State } from "../core/state.ts";
import type { World } from "../ports/world.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import { senderOf } from "../engine/context/inbox.ts";
import { type Gone, checkThenDeliver } from "./look-then-deliver.ts";
import { SegmentCache } from "../history/load.ts";
import { loadVouched } from "../history/vouch.ts";
import { sendRequest } from "../engine/loop/request.ts";

/** The outcome of an acceptance. */
export type Upgraded =
  | { readonly kind: "accepted"; readonly from: string; readonly to: string }
  /** The run waits for no upgrade. `version`: its current version. */
  | { readonly kind: "stale"; readonly version: string }
  /** The version was accepted before, perhaps by this very sender. */
  | { readonly kind: "duplicate"; readonly to: string }
  | Gone;

/** Accepts the version that the run waits for now, and resumes the run if it is paused. */
export function acceptUpgrade(
  world: World,
  { run, by }: { readonly run: string; readonly by: string },
): Promise<Upgraded> {
  return checkThenDeliver<Upgraded>(world, run, async (seen) => {
    const { row, state } = await loadVouched(world, seen, new SegmentCache());
    if (hasEnded(row)) return { kind: "late" };
    const { lack, questions, accepted } = upgradesOf(state);
    if (lack?.kind !== "upgrade") return { kind: "stale", version: state.agentVersion };
    const { to } = lack;
    if (accepted?.to === to) return goOn(world, { row, told: { kind: "duplicate", to } });
    return {
      kind: "send",
      id: upgradeId(questions),
      body: { kind: "upgrade", question: questions, to, by: senderOf(by) },
      onDelivered: async () => {
        // If the question was closed in between, no beat applied this answer. The sender learns that.
        const after = await look(world, run);
        const isHeard =
          after === null || after.row.version === row.version || counts(after.state, { asked: questions, to });
        if (!isHeard) return { kind: "stale", version: after.state.agentVersion };
        return goOn(world, { row, told: { kind: "accepted", from: state.agentVersion, to } });
      },
      onDuplicate: () => goOn(world, { row, told: { kind: "duplicate", to } }),
    };
  });
}

/** Resumes the run if it is also paused. */
async function goOn(world: World, { row, told }: { readonly row: Row; readonly told: Upgraded }): Promise<Upgraded> {
  if (row.pause) await sendRequest(world, { run: row.run, want: "resume" });
  return told;
}

function counts(state: State, { asked, to }: { readonly asked: number; readonly to: string }): boolean {
  const { lack, questions, accepted } = upgradesOf(state);
  const isOpen = lack?.kind === "upgrade" && questions === asked;
  return isOpen || accepted?.to === to || state.agentVersion === to;
}

async function look(world: World, run: string): Promise<{ readonly row: Row; readonly state: State } | null> {
  const row = await world.table.read(run, world.clock.now());
  return row === null ? null : loadVouched(world, row, new SegmentCache());
}
