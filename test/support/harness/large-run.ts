/** A run whose export does not fit into a response, and a store with signed URLs. */
import { SIZES } from "../../../src/codec/limits.ts";
import type { World } from "../../../src/ports/world.ts";
import type { ApiHarness } from "./api-harness.ts";

export async function largeRun({ ask }: Pick<ApiHarness, "ask">): Promise<string> {
  const input = "word ".repeat(Math.ceil(SIZES.httpBodyBytesMax / 8));
  const { body } = await ask({ path: "/runs", json: { agent: "omnivore", input } });
  return String(body["run"]);
}

export const withLinks = (world: World): World => ({
  ...world,
  links: {
    linkTo: async (key, { seconds, fileName }) => `https://objects.test/${key}?seconds=${seconds}&file=${fileName}`,
  },
});
