/** Witnesses of who may drive a run: claims, tokens, executions, hand-overs. */
import { RETRY_GROUP } from "../../src/protocol/entry.ts";
import { type Row, hasEnded } from "../../src/protocol/row.ts";
import { NO_EXECUTION, isAsleep } from "../../src/protocol/row-park.ts";
import type { Call } from "./record.ts";
import type { Witnesses } from "./observed-history.ts";

export const witnessesClaims: Witnesses = {
  // A late attempt is refused by the later retry that claimed its entry meanwhile.
  1: ({ calls }) =>
    refusedClaims(calls("table.claim")).some(
      ({ of: [late], outcome, sent }) =>
        calls("table.claim").some(
          ({ of: [winner], outcome: won, sent: begun }) =>
            won?.kind === "granted" && sent < begun && sameEntry(late, winner) && late.entry.retry < winner.entry.retry,
        ) && outcome.row.epoch > late.entry.epoch,
    ),
  2: ({ calls }) =>
    refusedClaims(calls("table.claim")).some(
      ({ of: [claim], outcome: { row } }) =>
        row.chain === claim.chain && row.entry !== null && row.entry.execution !== claim.entry.execution,
    ),
  7: ({ calls }) =>
    calls("table.claim").some(
      ({ of: [claim], fault, outcome }) =>
        fault === "answer lost" && outcome?.kind === "granted" && isRefusedByItself(calls("table.claim"), claim.owner),
    ),
  102: ({ calls }) => calls("table.claim").some(({ outcome }) => outcome?.kind === "newer"),
  // Another process claimed the entry before, and died.
  103: ({ calls }) =>
    calls("table.claim").some(
      ({ of: [claim], outcome }) => outcome?.kind === "newer" && outcome.at?.epoch !== claim.entry.epoch,
    ),
  15: ({ calls }) =>
    calls("table.park").some(({ of: [{ entry }], outcome }) => {
      const held = outcome?.kind === "superseded" ? (outcome.row.park?.entry ?? null) : null;
      return (
        held !== null && held.execution === entry.execution && held.epoch === entry.epoch && held.retry > entry.retry
      );
    }),
  // A token that was sent before is refused where another one is stored.
  16: ({ calls }) =>
    calls("table.park").some(
      ({ of: [{ token }], outcome, order }) =>
        outcome?.kind === "superseded" &&
        outcome.row.park !== null &&
        outcome.row.park.token !== token &&
        calls("table.park").some((first) => first.of[0].token === token && first.order < order),
    ),
  // Two of whom one hands over a run that waits without an execution, and the other one finds it handed over.
  173: ({ calls }) => {
    const ofAsleep = calls("table.handOver").filter(({ of: [of] }) =>
      calls("table.park").some(
        ({ outcome }) => outcome?.kind === "parked" && isAsleep(outcome.row) && isOf(of, outcome.row),
      ),
    );
    return ofAsleep.some(
      ({ of: [lost], outcome }) =>
        outcome?.kind === "lost" &&
        ofAsleep.some(({ of: [won], outcome: other }) => other?.kind === "handed" && won.epoch === lost.epoch),
    );
  },
  174: ({ calls }) =>
    calls("table.park").some(({ of: [{ token }], outcome }) => token === NO_EXECUTION && outcome?.kind === "woken"),
  176: ({ calls }) =>
    calls("table.park").some(
      ({ of: [{ token }], outcome }) => token === NO_EXECUTION && outcome?.kind === "superseded",
    ),
  20: ({ calls }) =>
    calls("table.handOver").some(
      ({ outcome, task }) =>
        outcome?.kind === "handed" &&
        calls("chain.start").some(
          (start) => start.task === task && start.outcome?.kind === "exists" && !start.outcome.running,
        ),
    ),
  24: ({ calls }) =>
    calls("table.claim").some(
      ({ of: [{ entry }], outcome }) => entry.retry >= RETRY_GROUP && outcome?.kind === "granted",
    ),
  25: ({ calls }) =>
    calls("table.handOver").some(
      ({ of: [{ chain }], outcome, order }) =>
        outcome?.kind === "handed" &&
        !calls("table.claim").some(
          (claim) => claim.of[0].chain === chain && claim.outcome?.kind === "granted" && claim.order < order,
        ),
    ),
  33: ({ history, calls }) =>
    calls("table.handOver").some(({ outcome, order }) => {
      const made = history.stored.findLastIndex((each) => each.order < order);
      const before = history.stored[made - 1]?.row;
      return outcome?.kind === "handed" && before !== undefined && before.owner !== null;
    }),
  37: ({ calls }) =>
    calls("table.claim").some(
      ({ of: [claim], fault, outcome }) =>
        fault === "landed" && outcome?.kind === "granted" && isRefusedByItself(calls("table.claim"), claim.owner),
    ),
  38: ({ history: { reached } }) =>
    reached.has("chain park out of attempts") || reached.has("chain rescue out of attempts"),
  39: ({ calls }) =>
    calls("table.handOver").some(
      ({ of: [{ chain }], outcome, task, order }) =>
        outcome?.kind === "lost" &&
        outcome.row.chain === chain + 1 &&
        calls("chain.start").some((start) => start.task === task && start.order > order),
    ),
  40: ({ calls }) => calls("table.handOver").some(({ outcome }) => outcome?.kind === "lost" && hasEnded(outcome.row)),
  46: ({ history: { reached } }) => reached.has("two sweepers"),
  // The commit that moved the run on landed, its process died, and its retry is refused by the successor.
  9: ({ calls }) =>
    refusedClaims(calls("table.claim")).some(
      ({ of: [claim], outcome: { row } }) =>
        row.chain === claim.chain + 1 &&
        calls("table.commit").some(
          ({ of: [commit], outcome }) =>
            commit.nextChain && outcome?.kind === "committed" && outcome.row.chain === row.chain,
        ),
    ),
};

const isOf = (of: Pick<Row, "run" | "chain"> & { readonly epoch?: number }, row: Row): boolean =>
  of.run === row.run && of.chain === row.chain && of.epoch === row.epoch;

type Claims = readonly Call<"table.claim">[];

function refusedClaims(claims: Claims) {
  return claims.flatMap(({ of, outcome, sent }) => (outcome?.kind === "superseded" ? [{ of, outcome, sent }] : []));
}

const sameEntry = (one: Call<"table.claim">["of"][0], other: Call<"table.claim">["of"][0]): boolean =>
  one.entry.execution === other.entry.execution && one.entry.epoch === other.entry.epoch;

const isRefusedByItself = (claims: Claims, owner: string): boolean =>
  claims.some(
    ({ of: [claim], outcome }) =>
      claim.owner === owner && outcome?.kind === "superseded" && outcome.row.owner === owner,
  );
