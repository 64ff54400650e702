import { describe, expect, test } from "vitest";
import { z } from "zod";
import { stripePayment } from "../../src/effects/index.ts";
import { everyFaultPoint, expectEffectsOnce, killAt, runAgent } from "../../src/testing/kit/index.ts";
import { serve } from "../support/services/http-server.ts";
import { type Payments, startPayments } from "../support/services/payments.ts";
import { duplicatesIn } from "../support/services/service-view.ts";
import { callContext } from "../support/agents/call-context.ts";
import { callingAgent } from "./calling-agent.ts";

const input = z.object({ cents: z.int(), card: z.string().optional() });
const TWO = [{ cents: 100 }, { cents: 250 }];
const THREE = [...TWO, { cents: 999 }];

const chargeAt = ({ url }: Payments) =>
  stripePayment({
    ...{ input, secret: "STRIPE_KEY", baseUrl: url },
    charge: ({ input: { cents, card = "pm_visa" } }) => ({
      ...{ amount: cents, currency: "eur", metadata: { shop: "books" } },
      ...(card !== "none" && { payment_method: card }),
    }),
  });

const payer = (payments: Payments, of: { readonly args?: typeof THREE; readonly end?: "failed" } = {}) =>
  callingAgent({ act: chargeAt(payments), args: TWO, secrets: ["STRIPE_KEY"], ...of });

const optionsFor = ({ service }: Payments) => ({ input: {}, services: [service], secrets: { STRIPE_KEY: "sk_test" } });

const once = { secrets: { get: async () => "sk_test" } };

test("money is charged once, with a kill at each fault point", async () => {
  const payments = await startPayments();
  const { points, uninterrupted } = await everyFaultPoint(payer(payments), optionsFor(payments));
  expect(points).toContain("after:effect:act#2");
  expect(uninterrupted.effects).toHaveLength(2);
  expect(uninterrupted.calls.map(({ externalId }) => externalId)).toEqual(["pi_1", "pi_2"]);
});

test("a kill after the payment is followed by a lookup, and 0 payments are duplicates", async () => {
  const payments = await startPayments();
  const run = await killAt(payer(payments), "after:effect:act", optionsFor(payments));
  const [create, search] = ["POST /v1/payment_intents", "GET /v1/payment_intents/search"];
  expect(payments.requests).toEqual([create, search, create]);
  expectEffectsOnce(run);
  expect(duplicatesIn(run.effects)).toBe(0);
});

test("a payment that the search does not show yet is repeated under its key, and charged once", async () => {
  const payments = await startPayments({ isSearchLate: true });
  const run = await killAt(payer(payments), "after:effect:act", optionsFor(payments));
  expect(payments.requests.filter((request) => request.startsWith("POST"))).toHaveLength(3);
  expectEffectsOnce(run);
  expect(duplicatesIn(run.effects)).toBe(0);
});

test("a payment is found by its search when the service has forgotten its key", async () => {
  const payments = await startPayments({ fault: ({ nth }) => (nth === 2 ? "keysForgotten" : "none") });
  const run = await killAt(payer(payments), "after:effect:act", optionsFor(payments));
  expect(run.effects).toHaveLength(2);
  expect(duplicatesIn(run.effects)).toBe(0);
});

test.each(["answerLost", "unavailable"] as const)("a payment whose request is %s is charged once", async (fault) => {
  const payments = await startPayments({ fault: ({ nth }) => (nth === 1 ? fault : "none") });
  const run = await runAgent(payer(payments), optionsFor(payments));
  expect(run.status).toBe("completed");
  expectEffectsOnce(run);
  expect(run.effects).toHaveLength(2);
});

test.each([401, 403, 429])("a payment whose repetition gets %i is not taken for a failed one", async (status) => {
  // The first request is the payment whose answer is lost, the second the search, the third the repetition.
  const faults = { 1: "answerLost", 3: status } as const;
  const payments = await startPayments({
    isSearchLate: true,
    fault: ({ nth }) => (nth === 1 || nth === 3 ? faults[nth] : "none"),
  });
  const run = await runAgent(payer(payments), optionsFor(payments));
  expect(run.calls.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
  expectEffectsOnce(run);
  expect(run.effects).toHaveLength(2);
  expect(duplicatesIn(run.effects)).toBe(0);
});

test("each payment is refunded once, with a kill at each fault point", async () => {
  const payments = await startPayments();
  const agent = payer(payments, { args: THREE, end: "failed" });
  const { uninterrupted, points } = await everyFaultPoint(agent, optionsFor(payments));
  expect(uninterrupted.effects.map(({ undone }) => undone)).toEqual([true, true]);
  expect(points).toContain("after:undo:act#2");
});

describe("one payment", () => {
  test("has the same parameters in every epoch, because the service compares them", async () => {
    const payments = await startPayments();
    const act = chargeAt(payments);
    const context = callContext({ input: { cents: 100 }, ...once, key: "it's" });
    const first = await act.run(context);
    expect(await act.run({ ...context, epoch: 7, attempt: 2 })).toEqual(first);
    expect(payments.forms[1]).toEqual(payments.forms[0]);
    expect(payments.forms[0]).toMatchObject({
      "metadata[shop]": "books",
      "metadata[cairn_key]": "it's",
      confirm: "true",
    });
    expect(await act.probe?.(context)).toEqual({ kind: "happened", result: first });
    expect(payments.service.effects).toHaveLength(1);
  });

  test("with other parameters under a used key is an unknown outcome", async () => {
    const payments = await startPayments();
    const act = chargeAt(payments);
    await act.run(callContext({ input: { cents: 100 }, ...once }));
    const other = act.run(callContext({ input: { cents: 200 }, ...once }));
    await expect(other).rejects.toMatchObject({ name: "OutcomeUnknown" });
  });

  test.each([
    ["pm_declined", /^the service answered 402: .*card_declined/],
    ["none", /^payment pi_1 is requires_payment_method, so no money has moved/],
  ])("with %s as payment method has failed, and its probe says absent", async (card, message) => {
    const payments = await startPayments();
    const context = callContext({ input: { cents: 100, card }, ...once });
    await expect(chargeAt(payments).run(context)).rejects.toMatchObject({
      name: "Rejected",
      message: expect.stringMatching(message),
    });
    expect(await chargeAt(payments).probe?.(context)).toEqual({ kind: "absent" });
  });

  test.each([400, 401, 403, 404, 429])("that gets %i has failed at first, and is unknown later", async (status) => {
    const act = chargeAt(await startPayments({ fault: () => status }));
    const context = callContext({ input: { cents: 100 }, ...once });
    await expect(act.run(context)).rejects.toMatchObject({ name: "Error" });
    await expect(act.run({ ...context, attempt: 2 })).rejects.toMatchObject({
      name: "OutcomeUnknown",
      message: expect.stringMatching(`this one failed: the service answered ${status}`),
    });
  });

  test.each(["pm_declined", "pm_unknown"])("with %s fails by the answer that its key replays", async (card) => {
    const payments = await startPayments();
    const context = callContext({ input: { cents: 100, card }, ...once });
    await expect(chargeAt(payments).run(context)).rejects.toThrow(/^the service answered 40[02]/);
    const repeated = chargeAt(payments).run({ ...context, attempt: 2 });
    await expect(repeated).rejects.toMatchObject({ name: "Rejected" });
  });

  test("that cannot be repeated, without its secret or a connection, is unknown", async () => {
    const context = callContext({ input: { cents: 100 }, ...once, attempt: 2 });
    const act = chargeAt(await startPayments());
    const secrets = { get: async () => Promise.reject(new Error("no secret")) };
    await expect(act.run({ ...context, secrets })).rejects.toMatchObject({ name: "OutcomeUnknown" });
    const closed = stripePayment({ input, secret: "STRIPE_KEY", baseUrl: "http://127.0.0.1:1", charge: () => ({}) });
    await expect(closed.run(context)).rejects.toMatchObject({ name: "OutcomeUnknown" });
  });

  test.each([
    ["nothing", ""],
    ["a page of a proxy", "<html>"],
    ["more than 8 MB", "x".repeat(8 * 1024 * 1024 + 1)],
  ])("whose answer is %s is an unknown outcome", async (_, body) => {
    const context = callContext({ input: { cents: 100 }, ...once });
    for (const status of body.length > 100 ? [200, 400] : [200]) {
      const baseUrl = await serve(() => ({ status, body }));
      const act = stripePayment({ input, secret: "STRIPE_KEY", baseUrl, charge: () => ({}) });
      await expect(act.run(context)).rejects.toMatchObject({ name: "OutcomeUnknown" });
    }
  });

  test("of unknown outcome is looked up before its refund, and nothing is refunded if there is none", async () => {
    const payments = await startPayments();
    const act = chargeAt(payments);
    const context = callContext({ input: { cents: 100 }, ...once, of: { key: "k1", result: null } });
    await act.undo?.run({ ...context, key: "undo-1" });
    expect(payments.forms).toEqual([]);
    await act.run({ ...context, key: "k1" });
    await act.undo?.run({ ...context, key: "undo-1" });
    await act.undo?.run({ ...context, key: "undo-2" });
    expect(payments.service.effects.map(({ undone }) => undone)).toEqual([true]);
  });
});
