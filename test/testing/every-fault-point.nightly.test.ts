/** How long the kit of the tests takes with an agent of the size that its page shows. */
import { expect, test } from "vitest";
import { everyFaultPoint } from "../../src/testing/kit/index.ts";
import { INPUT, lettersAgent } from "./letters.ts";

test.each(["keyed", "probed", "unsafe"] as const)(
  "a kill at each fault point of an agent with a tool of class %s takes less than five seconds of the processor",
  async (effect) => {
    const { clerk, post } = lettersAgent({ effect, service: { honoursKeys: effect === "keyed" } });
    const before = process.cpuUsage();
    await everyFaultPoint(clerk, { input: INPUT, services: [post] });
    const { user, system } = process.cpuUsage(before);
    expect(user + system).toBeLessThan(5_000_000);
  },
);
