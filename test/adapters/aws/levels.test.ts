/** DynamoDB writes of a process that may be older than another: their conditions, and the attributes they keep. */
import { expect, test } from "vitest";
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { updateInput } from "../../../src/adapters/aws/table/expression.ts";
import { requestWrite, wakeWrite, swapWrite } from "../../../src/adapters/aws/table/row-writes.ts";
import { LEVEL } from "../../../src/core/levels.ts";
import { checkedCommit } from "../../../src/codec/checksum.ts";
import { type Commit, type Row, decideCommit } from "../../../src/protocol/row.ts";
import { decideClaim } from "../../../src/protocol/row-claim.ts";
import { decidePark } from "../../../src/protocol/row-park.ts";
import { AT, BORN, RUN, row } from "../../support/states/states-and-events.ts";

const OF = { run: RUN, born: BORN, now: AT };
const entry = { execution: "execution 1", epoch: 0, retry: 0 };
const claim = { ...OF, chain: 1, entry, owner: "owner", leaseUntil: AT + 1, level: LEVEL };
const commit: Commit = {
  ...{ ...OF, epoch: 1, version: 0, commitId: "c", agentVersion: "1", journal: null, snapshot: row().snapshot },
  ...{ spent: row().spent, status: "running", phase: "AwaitingLLM", wakeCountSeen: 0, wakeAt: null, deadline: AT + 9 },
  ...{
    unaccountedModelCalls: 0,
    marksAtClaim: 0,
    isProgress: false,
    storeOutage: null,
    lastCheckpointAt: AT,
    release: false,
    raiseEffectsSettleAt: false,
  },
  ...{ nextChain: false, expiresAtSec: null, unlessWoken: false },
};

const LANE = { replaces: ["deadline"] } as const;
const rowAfter = (outcome: { readonly kind: string; readonly row?: Row }): Row => outcome.row as Row;
const held = rowAfter(decideClaim(row(), claim));
const released = rowAfter(decideCommit(held, { ...commit, release: true }));

test("a claim that an older process decided is refused after a commit raised the level, since the version rose", () => {
  const overtaking = rowAfter(decideClaim(held, { ...claim, entry: { ...entry, retry: 1 } }));
  const { condition, changes } = swapWrite(held, overtaking);
  const { ConditionExpression, ExpressionAttributeValues } = updateInput(condition, changes);
  expect(ConditionExpression).toContain("#version = :seen_version");
  expect(ExpressionAttributeValues?.[":seen_version"]).toEqual({ N: "0" });
  const raised = rowAfter(decideCommit(held, { ...commit, level: LEVEL + 1 }));
  expect({
    version: raised.version,
    kind: decideClaim(raised, { ...claim, entry: { ...entry, retry: 1 } }).kind,
  }).toEqual({ version: 1, kind: "newer" });
});

test("a commit writes its checksum, and its level if that is above the lowest", () => {
  const written = (of: Commit, before = held): string => {
    const { condition, changes } = swapWrite(before, rowAfter(decideCommit(before, of)), LANE);
    return updateInput(condition, changes).UpdateExpression;
  };
  expect(written(checkedCommit(held, commit))).toMatch(/#checksum = :new_checksum/);
  expect(written(commit, { ...held, checksum: "of an earlier commit" })).toMatch(/REMOVE .*#checksum/);
  expect([written(commit), written({ ...commit, level: LEVEL + 1 })].map((text) => text.includes("#level"))).toEqual([
    false,
    true,
  ]);
});

test("no write names unknown attributes, so each keeps those of a newer version", () => {
  const known = new Set<string>(Object.values(ATTRIBUTES));
  const park = { ...OF, chain: 1, epoch: 1, entry: { ...entry, epoch: 1 }, token: "token" };
  const writes = [
    ...[
      swapWrite(row(), held),
      swapWrite(held, released, LANE),
      swapWrite(released, rowAfter(decidePark(released, park))),
    ],
    ...[wakeWrite({ ...OF, deadline: AT }, null), requestWrite({ ...OF, want: "cancel" })],
  ];
  for (const { condition, changes } of writes) {
    const { UpdateExpression, ExpressionAttributeNames } = updateInput(condition, changes);
    expect(Object.values(ExpressionAttributeNames).filter((name) => !known.has(name))).toEqual([]);
    expect(UpdateExpression).toMatch(/^SET #/);
  }
});

test("a decision that changes none of the marks, or the message lane in passing, is a mistake of the code", () => {
  expect(() => swapWrite(held, { ...held, takeovers: 9 })).toThrow(/none of its marks/);
  expect(() => swapWrite(held, { ...held, epoch: 9, wakeCount: 9 })).toThrow(/only messages and requests write/);
});
