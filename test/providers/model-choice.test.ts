/** Which texts and objects name a model, and what is wrong with the others. */
import { describe, expect, test } from "vitest";
import { modelOf } from "../../src/providers/model.ts";

describe("a model choice", () => {
  test.each<[string, unknown, RegExp]>([
    [
      "another provider as a string",
      "mistral:large",
      /"mistral:large" is not understood.*anthropic:MODEL, .*openai-compatible:http:\/\/HOST/,
    ],
    [
      "a text of the AI SDK",
      "anthropic/claude-opus-4-5",
      /did you mean "anthropic:claude-opus-4-5", or "gateway:anthropic\/claude-opus-4-5", which the AI Gateway calls\?/,
    ],
    ["one of another provider", "xai/grok-4", /is not understood: did you mean "gateway:xai\/grok-4", which/],
    ["a provider without a model", "openai:", /not understood/],
    ["an inherited name", "constructor:m", /not understood/],
    ["no model", "openai-compatible:http://127.0.0.1:1/v1", /not understood/],
    ["no address", "openai-compatible:#m", /not understood/],
    ["another protocol", "openai-compatible:ftp://host/v1#m", /not understood/],
    ["a query", "openai-compatible:http://host/v1?a=b#m", /not understood/],
    [
      "a credential",
      "openai-compatible:http://me:secret@host/v1#m",
      /host has a credential.*OPENAI_COMPATIBLE_API_KEY/,
    ],
    ["an older model object", { specificationVersion: "v2", doGenerate: () => null }, /version v4 but v2/],
    ["nothing", undefined, /version v4 but undefined/],
  ])("that is %s is refused", (_, choice, message) => {
    expect(() => modelOf(choice as string)).toThrow(message);
    expect(() => modelOf(choice as string)).toThrow(expect.objectContaining({ code: "AgentInvalid" }) as Error);
  });

  test.each(["http", "ftp"])("with a credential is not repeated in the error (%s)", (protocol) => {
    const choice = `openai-compatible:${protocol}://me:hunter22@host/v1#m`;
    expect(() => modelOf(choice)).toThrow(/^(?!.*hunter22).*has a credential/);
  });
});
