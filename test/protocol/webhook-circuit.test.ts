/** When a webhook endpoint gets no requests any more, how it is probed, and when it gets them again. */
import { describe, expect, test } from "vitest";
import { CLOSED, type WebhookCircuit, asWished, circuitAfter, isOpen } from "../../src/protocol/webhook-circuit.ts";

const NOW = 1_000_000;
const after = (before: WebhookCircuit, failed: number, { succeeded = 0, now = NOW } = {}): WebhookCircuit =>
  circuitAfter(before, { failed, succeeded, why: failed > 0 ? "503" : null, now });

/** The circuit after so many attempts that failed one after another, a second apart. */
const failing = (times: number): WebhookCircuit =>
  Array.from({ length: times }).reduce<WebhookCircuit>(
    (circuit, _, index) => after(circuit, 1, { now: NOW + index * 1_000 }),
    CLOSED,
  );

describe("a circuit", () => {
  test("opens with the fifth failure in a row, or with several at once", () => {
    expect({ fourth: isOpen(failing(4)), fifth: isOpen(failing(5)) }).toEqual({ fourth: false, fifth: true });
    expect(isOpen(after(failing(2), 3))).toBe(true);
  });

  test("knows since when it fails and why", () => {
    expect(failing(3)).toEqual({ ...CLOSED, failures: 3, since: NOW, nextAt: NOW + 2_000 + 5_000, why: "503" });
  });

  test("waits five seconds before the next attempt, and with each probe that fails twice as long, at most five minutes", () => {
    const pauses = [1, 5, 6, 7, 8, 9, 10, 11, 12, 40].map((times) => {
      const before = failing(times - 1);
      return after(before, 1).nextAt - NOW;
    });
    expect(pauses).toEqual([5, 5, 10, 20, 40, 80, 160, 300, 300, 300].map((seconds) => seconds * 1_000));
  });

  test("closes with the first answer, and what failed before is due at once if it was open", () => {
    expect(after(failing(5), 2, { succeeded: 1, now: NOW + 9 })).toEqual({ ...CLOSED, recoveredAt: NOW + 9 });
    expect(after({ ...failing(4), recoveredAt: 77 }, 0, { succeeded: 1 })).toEqual({ ...CLOSED, recoveredAt: 77 });
  });

  test("is the same after no attempt", () => {
    const open = failing(6);
    expect(after(open, 0)).toBe(open);
  });
});

test("an operator closes a circuit by hand, unless it has closed by itself since", () => {
  const open = { ...failing(5), recoveredAt: 50 };
  expect(asWished(open, 51)).toEqual({ ...CLOSED, recoveredAt: 51 });
  expect(asWished(open, 50)).toBe(open);
});
