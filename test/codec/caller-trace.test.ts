/** What is taken of the headers of the W3C's Trace Context. */
import { expect, test } from "vitest";
import { traceToKeep } from "../../src/engine/context/trace.ts";
import { callerTraceIn } from "../../src/codec/caller-trace.ts";
import { createHarness, scriptedAgent } from "../support/harness/harness.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const PARENT = `00-${TRACE}-${SPAN}-01`;

const taken = (traceparent: string | null, tracestate: string | null = null) =>
  callerTraceIn({ traceparent, tracestate });

test.each([
  ["as it is", PARENT, PARENT],
  ["not recorded", `00-${TRACE}-${SPAN}-00`, `00-${TRACE}-${SPAN}-00`],
  ["with other flags, which are not kept", `00-${TRACE}-${SPAN}-03`, PARENT],
  ["of a later version", `cc-${TRACE}-${SPAN}-01`, PARENT],
  ["of a later version, which has more", `cc-${TRACE}-${SPAN}-01-what-the-future-will-be`, PARENT],
])("a parent %s", (_, said, kept) => {
  expect(taken(said)).toEqual({ traceparent: kept });
});

test.each([
  ["none", null],
  ["empty", ""],
  ["a word", "yes"],
  ["the version that is forbidden", `ff-${TRACE}-${SPAN}-01`],
  ["capital letters", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ["a short trace", `00-${TRACE.slice(1)}-${SPAN}-01`],
  ["a long span", `00-${TRACE}-${SPAN}0-01`],
  ["a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
  ["a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
  ["no flags", `00-${TRACE}-${SPAN}`],
  ["more than its version has", `${PARENT}-more`],
  ["a later version that does not end its flags", `cc-${TRACE}-${SPAN}-01.more`],
  ["two of them", `${PARENT}, ${PARENT}`],
])("%s is ignored", (_, said) => {
  expect(taken(said, "vendor=1")).toBeNull();
});

test.each([
  ["as it is", "vendor=1,other=2", "vendor=1,other=2"],
  ["with space around its members", " vendor=1 ,\tother=2", "vendor=1,other=2"],
  ["with an empty member", "vendor=1,,other=2", "vendor=1,other=2"],
  ["of a tenant", "0tenant@vendor=a b!c", "0tenant@vendor=a b!c"],
])("a state %s", (_, said, kept) => {
  expect(taken(PARENT, said)).toEqual({ traceparent: PARENT, tracestate: kept });
});

test.each([
  ["without a value", "vendor"],
  ["with a key in capitals", "Vendor=1"],
  ["with two equals", "vendor=a=b"],
  ["with a key twice", "vendor=1,vendor=2"],
  ["with a control character", "vendor=a\u0007b"],
  ["with more members than are allowed", Array.from({ length: 33 }, (_, at) => `v${at}=1`).join(",")],
  ["with a value that is too long", `vendor=${"x".repeat(257)}`],
])("a state %s is left out, and the parent stays", (_, said) => {
  expect(taken(PARENT, said)).toEqual({ traceparent: PARENT });
});

test("of a state over 512 characters the long members go first, then the last ones", () => {
  const long = `long=${"x".repeat(200)}`;
  const short = Array.from({ length: 32 - 1 }, (_, at) => `v${String(at).padStart(2, "0")}=${"y".repeat(12)}`);
  expect(taken(PARENT, [long, ...short].join(","))?.tracestate).toBe(short.slice(0, -1).join(","));
});

test("a state that holds a credential is not kept, and the parent stays", () => {
  const { world } = createHarness();
  const agent = scriptedAgent({});
  const kept = (tracestate: string) => traceToKeep(world, agent, { traceparent: PARENT, tracestate });
  expect(kept("vendor=1")).toBe(`link ${PARENT} vendor=1`);
  expect(kept(`vendor=1,token=${["ghp", "x".repeat(36)].join("_")}`)).toBe(`link ${PARENT}`);
});
