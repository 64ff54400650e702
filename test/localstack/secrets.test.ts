/** Secrets in the Parameter Store: functions read the declared secrets and never write their values. */
import { DeleteParameterCommand, PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parameterOf } from "../../src/adapters/aws/table/keys.ts";
import { parameterSecrets } from "../../src/adapters/aws/secrets.ts";
import { ended, laneOf, shown, started } from "./lane.ts";
import { teller } from "./fixtures/teller.ts";

const lane = laneOf("lane");
const TOKEN = "l4ne/token+7~end";
const Name = parameterOf(lane.stack.table, "LANE_TOKEN");
const client = new SSMClient();

const AS_CALLER = {
  "content-type": "application/json",
  authorization:
    "AWS4-HMAC-SHA256 Credential=test/20270101/us-east-1/execute-api/aws4_request, SignedHeaders=host, Signature=0",
};
const post = (input: object): Promise<Response> =>
  fetch(`${lane.stack.api}/runs`, {
    method: "POST",
    headers: AS_CALLER,
    body: JSON.stringify({ agent: "teller", input }),
  });

beforeAll(async () => {
  // The API's function has cached that the secret is missing, just before it is set.
  const answer = await post({ note: "before the secret is set" });
  if (answer.status !== 202) throw new Error(await answer.text());
  await client.send(new PutParameterCommand({ Name, Value: TOKEN, Type: "SecureString", Overwrite: true }));
});
afterAll(async () => {
  await client.send(new DeleteParameterCommand({ Name }));
});

describe("a secret of a deployment", () => {
  test("is read by the beat function and is in none of its writes", async () => {
    const { run } = await started(lane, { agent: teller, input: { note: "hello" } });
    const { status, result } = await ended(lane, run);
    expect({ status, result }).toEqual({
      status: "completed",
      result: { token: "[secret LANE_TOKEN]", has: TOKEN.length },
    });
    expect(JSON.stringify(await shown(lane, run))).not.toContain(TOKEN);
  });

  test("is refused in an input by the API's function", async () => {
    const answer = await post({ note: `use ${TOKEN}` });
    const text = await answer.text();
    expect({ status: answer.status, text }).toEqual({
      status: 422,
      text: expect.stringContaining("[secret LANE_TOKEN]"),
    });
    expect(text).not.toContain(TOKEN);
  });

  test("is found by its name below the path, and a missing one says what to type", async () => {
    const mine = parameterSecrets({ deployment: lane.stack.table, names: null });
    expect(await mine.declared()).toEqual(["LANE_TOKEN"]);
    expect(await mine.get("LANE_TOKEN")).toEqual({ kind: "found", value: TOKEN });
    expect(await mine.get("NOBODY")).toMatchObject({
      ...{ kind: "absent", where: expect.stringContaining(parameterOf(lane.stack.table, "NOBODY")) },
      mend: expect.stringMatching(/^aws ssm put-parameter --type SecureString --name /),
    });
  });
});
