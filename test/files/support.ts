/** Small files and an agent that works with them. */
import * as z from "zod";
import type { LanguageModelV4, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { defineAgent, scriptedModel, tool, toolFile } from "../../src/index.ts";

const plain = (bytes: Buffer): Uint8Array => Uint8Array.from(bytes);

/** A file that begins as a PNG image does. */
export const png = (content = "pixels"): Uint8Array =>
  plain(Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.from(content)]));

export const pdf = (content = "page"): Uint8Array => plain(Buffer.from(`%PDF-1.7 ${content}`));

/** The files of a prompt: their types, names and bytes. */
export const filesSeen = (prompt: LanguageModelV4Prompt) =>
  prompt.flatMap(({ role, content }) =>
    role === "user"
      ? content.flatMap((part) => {
          if (part.type !== "file") return [];
          const { mediaType, filename: name, data } = part;
          const bytes = data.type === "data" ? plain(Buffer.from(data.data as string, "base64")) : null;
          return [{ mediaType, name, bytes }];
        })
      : [],
  );

/** An agent that takes a screenshot, and answers with it. `prompts`: what its model was asked. */
export function screenshotAgent(shot: Uint8Array = png("shot")) {
  const prompts: LanguageModelV4Prompt[] = [];
  const scripted = scriptedModel({
    name: "looker",
    reply: ({ resultOf }) => {
      const taken = resultOf("screenshot") as { readonly shot: { readonly file: string } } | undefined;
      return taken === undefined
        ? { calls: [{ tool: "screenshot", args: {} }] }
        : { text: `It is ${taken.shot.file.slice(0, 16)}.` };
    },
  });
  const model: LanguageModelV4 = {
    ...scripted,
    doGenerate: (options) => {
      prompts.push(options.prompt);
      return scripted.doGenerate(options);
    },
  };
  const read: string[] = [];
  const agent = defineAgent({
    name: "screenshots",
    version: "1",
    instructions: "Look at the page.",
    model,
    price: { inUsd: 1, outUsd: 1 },
    task: z.object({ page: z.string() }),
    budget: { usd: 1 },
    tools: {
      screenshot: tool({
        description: "Takes a screenshot.",
        input: z.object({}),
        effect: "keyed",
        run: async ({ files }) => {
          for (const { name } of files.list()) read.push(Buffer.from((await files.read(name)).content).toString("hex"));
          return { shot: toolFile(shot, { name: "start.png" }) };
        },
      }),
    },
  });
  return { agent, prompts, read };
}
