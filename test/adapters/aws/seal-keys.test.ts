/** Seal keys from KMS, against a test server with the KMS protocol. */
import { expect, test } from "vitest";
import { kmsSealKeys } from "../../../src/adapters/aws/seal-keys.ts";
import { isGenuine, vouchFor } from "../../../src/codec/voucher.ts";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { ok, refusal } from "../../support/aws/aws-server.ts";
import { useAwsServer } from "../../support/aws/aws-world.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { withSealKeys } from "../../support/runs/snapshot-seals.ts";
import { scriptedAgent, callsThenFinal, createHarness } from "../../support/harness/harness.ts";

const KMS_KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234";
const Plaintext = Buffer.alloc(32, 7).toString("base64");
const CiphertextBlob = Buffer.from("wrapped by the service").toString("base64");
const GENERATED = ok({ KeyId: KMS_KEY, Plaintext, CiphertextBlob });
const DECRYPTED = ok({ KeyId: KMS_KEY, Plaintext });

const server = useAwsServer();

/** The seal keys of a new process. */
const process = () =>
  kmsSealKeys({ kmsKey: KMS_KEY, isRequired: false, client: { endpoint: server.endpoint, requestMs: 60_000 } });

const asked = () => server.asked.map(({ what, body }) => [what, JSON.parse(body) as object]);

const agent = scriptedAgent({ reply: callsThenFinal(3) });

test("a process requests one data key, and another process decrypts it once to verify what the first wrote", async () => {
  server.answer(GENERATED);
  const harness = withSealKeys(createHarness(), process());
  const payload = await beginRun(harness.world, agent, {});
  await drive(runnerOf(harness.world, agent), payload);
  const context = { EncryptionContext: { cairn: "seal" } };
  expect(asked()).toEqual([["TrentService.GenerateDataKey", { KeyId: KMS_KEY, KeySpec: "AES_256", ...context }]]);
  server.answer(DECRYPTED);
  const verified = await verify({ ...harness.world, sealKeys: process() }, { run: payload.run });
  expect(verified).toMatchObject({ findings: [], seal: { is: "sealed", from: 0 } });
  expect(asked()).toEqual([["TrentService.Decrypt", { KeyId: KMS_KEY, CiphertextBlob, ...context }]]);
});

test("refuses a data key that is not the one that the seal names, or that another KMS key encrypted", async () => {
  server.answer(GENERATED);
  const key = await process().current();
  if (key === null) throw new Error("there is no key");
  const voucher = vouchFor(key, "snapshot", "digest");
  expect(voucher.wrapped).toBe(CiphertextBlob);
  server.answer(DECRYPTED);
  const found = await process().find(voucher);
  expect(found !== null && isGenuine(found, "snapshot", { voucher, digest: "digest" })).toBe(true);
  for (const answer of [
    refusal("IncorrectKeyException"),
    refusal("InvalidCiphertextException"),
    ok({ KeyId: KMS_KEY, Plaintext: Buffer.alloc(32, 8).toString("base64") }),
  ]) {
    server.answer(answer);
    expect(await process().find(voucher)).toBeNull();
  }
  expect(await process().find({ key: voucher.key })).toBeNull();
});

test("reports a refusal of KMS, and asks KMS again the next time", async () => {
  const keys = process();
  server.answer(refusal("AccessDeniedException"));
  const refused = await keys.current().catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StoreUnreachable);
  expect((refused as Error).message).toContain(`the KMS key ${KMS_KEY} cannot be used: access is denied`);
  server.answer(GENERATED);
  expect(await keys.current()).toMatchObject({ wrapped: CiphertextBlob });
});
