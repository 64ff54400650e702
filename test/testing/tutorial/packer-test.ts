import assert from "node:assert/strict";
import { test } from "node:test";
import { everyFaultPoint, expectEffectsOnce, fakeService, scriptedModel } from "cairn-run/testing";
import { packer } from "./packer.ts";

const disk = fakeService({ name: "disk", reply: () => ({ saved: "lists/one.md" }) });

test("the list is saved once, whenever the process dies", async () => {
  const { uninterrupted } = await everyFaultPoint(packer, {
    input: { place: "Lisbon", days: 3 },
    tools: { save: disk, forecast: fakeService({ name: "weather", reply: () => ({ rain_sum: [0, 4, 0] }) }) },
    model: scriptedModel({
      name: "packer-model",
      reply: ({ resultOf }) => {
        if (resultOf("forecast") === undefined) return { calls: [{ tool: "forecast", args: { place: "Lisbon" } }] };
        if (resultOf("save") === undefined) return { calls: [{ tool: "save", args: { text: "An umbrella." } }] };
        return { text: "Take an umbrella." };
      },
    }),
  });
  assert.equal(uninterrupted.status, "completed");
  expectEffectsOnce(uninterrupted);
});
