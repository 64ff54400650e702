/** DynamoDB writes of a process that may be older than another: their conditions, and the attributes they keep. */
import { expect, test } from "vitest";
import { ATTRIBUTES } from "../../../src/adapters/aws/attributes.ts";
import { updateInput } from "../../../src/adapters/aws/expression.ts";
import { claimWrite, commitWrite, parkWrite, requestWrite, stirWrite } from "../../../src/adapters/aws/row-writes.ts";
import { LEVEL } from "../../../src/core/levels.ts";
import { checkedCommit } from "../../../src/codec/checksum.ts";
import type { Commit } from "../../../src/protocol/row.ts";
import { AT, BORN, RUN, row } from "../../support/states/states-and-events.ts";

const OF = { run: RUN, born: BORN, now: AT };
const entry = { execution: "execution 1", epoch: 0, retry: 0 };
const claim = { ...OF, chain: 1, entry, owner: "owner", leaseUntil: AT + 1, level: LEVEL };
const commit: Commit = {
  ...{ ...OF, epoch: 1, version: 0, commitId: "c", agentVersion: "1", journal: null, snapshot: row().snapshot },
  ...{ spent: row().spent, status: "running", phase: "AwaitingLLM", wakeCountSeen: 0, wakeAt: null, deadline: AT + 9 },
  ...{
    asks: 0,
    will: 0,
    isProgress: false,
    storeOutage: null,
    lastCheckpointAt: AT,
    release: false,
    raiseEffectsSettleAt: false,
  },
  ...{ nextChain: false, expiresAtSec: null, unlessWoken: false },
};

test("a claim compares the level in the condition of its write", () => {
  const { condition, changes } = claimWrite(claim, null);
  const { ConditionExpression, ExpressionAttributeValues } = updateInput(condition, changes);
  expect(ConditionExpression).toContain("(attribute_not_exists(#level) OR #level <= :level)");
  expect(ExpressionAttributeValues?.[":level"]).toEqual({ N: String(LEVEL) });
});

test("a commit writes its checksum, and its level if that is above the lowest", () => {
  const written = (of: Commit): string => {
    const { condition, changes } = commitWrite(of, null);
    return updateInput(condition, changes).UpdateExpression;
  };
  expect(written(checkedCommit(row(), commit))).toMatch(/#checksum = :new_checksum/);
  expect(written(commit)).toMatch(/REMOVE .*#checksum/);
  expect([written(commit), written({ ...commit, level: LEVEL + 1 })].map((text) => text.includes("#level"))).toEqual([
    false,
    true,
  ]);
});

test("no write names unknown attributes, so each keeps those of a newer version", () => {
  const known = new Set<string>(Object.values(ATTRIBUTES));
  const park = { ...OF, chain: 1, epoch: 1, entry, token: "token" };
  const writes = [
    ...[claimWrite(claim, null), commitWrite(commit, null), parkWrite(park), stirWrite({ ...OF, deadline: AT }, null)],
    requestWrite({ ...OF, want: "cancel" }),
  ];
  for (const { condition, changes } of writes) {
    const { UpdateExpression, ExpressionAttributeNames } = updateInput(condition, changes);
    expect(Object.values(ExpressionAttributeNames).filter((name) => !known.has(name))).toEqual([]);
    expect(UpdateExpression).toMatch(/^SET #/);
  }
});
