import * as z from "zod";
import { expect, test } from "vitest";
import { sha256 } from "../../src/codec/canonical.ts";
import { defineAgent, scriptedModel } from "../../src/index.ts";
import { fakeService, killAt, runAgent } from "../../src/testing/kit/index.ts";
import { filesSeen, pdf, png, screenshotAgent } from "./support.ts";

const INPUT = { page: "start" };
const INVOICE = { name: "invoice.pdf", bytes: pdf() };
const SHOT = png("shot");
/** The screenshots of the agent are made in this process. */
const CAMERA = fakeService({ name: "camera", reply: () => null });

test("gives the files of a task and of a call to the model, and the result carries the one that it names", async () => {
  const { agent, prompts, read } = screenshotAgent();
  const run = await runAgent(agent, { input: INPUT, files: [INVOICE], services: [CAMERA] });
  expect(run).toMatchObject({ status: "completed", result: `It is ${sha256(SHOT).slice(0, 16)}.` });
  const invoice = { mediaType: "application/pdf", name: "invoice.pdf", bytes: INVOICE.bytes };
  const shot = { mediaType: "image/png", name: "start.png", bytes: SHOT };
  expect(prompts.map(filesSeen)).toEqual([[invoice], [invoice, shot]]);
  expect(read).toEqual([Buffer.from(INVOICE.bytes).toString("hex")]);
  expect(run.files).toEqual([
    {
      ...{ file: sha256(INVOICE.bytes), mediaType: "application/pdf", bytes: INVOICE.bytes.byteLength },
      name: "invoice.pdf",
      source: "task",
      inResult: false,
      content: INVOICE.bytes,
    },
    {
      ...{ file: sha256(SHOT), mediaType: "image/png", bytes: SHOT.byteLength },
      name: "start.png",
      source: "tool:screenshot",
      inResult: true,
      content: SHOT,
    },
  ]);
});

test("keeps a reference in the result of the call, in the place of the file", async () => {
  const run = await runAgent(screenshotAgent().agent, { input: INPUT, services: [CAMERA] });
  const recorded = run.timeline.find((entry) => entry.kind === "ToolResultRecorded");
  const ref = { file: sha256(SHOT), mediaType: "image/png", bytes: SHOT.byteLength, name: "start.png" };
  expect(recorded).toMatchObject({ value: { kind: "inline", json: { shot: ref } }, files: [{ kind: "file", ...ref }] });
});

test("loses no file when a process dies at any fault point", async () => {
  const { agent } = screenshotAgent();
  const options = { input: INPUT, files: [INVOICE], services: [CAMERA] };
  const { points } = await runAgent(agent, options);
  for (const point of points) {
    const { status, files, killed } = await killAt(agent, point, options);
    expect({ killed, status, files: files.map(({ content }) => sha256(content)) }).toEqual({
      killed: [point],
      status: "completed",
      files: [sha256(INVOICE.bytes), sha256(SHOT)],
    });
  }
  expect(points.filter((point) => point.startsWith("after:put")).length).toBeGreaterThan(1);
});

test("a scripted model reads the task of a run with files as that of one without", async () => {
  const tasks: unknown[] = [];
  const agent = defineAgent({
    ...{ name: "reader", version: "1", instructions: "", tools: {}, task: z.object({ page: z.string() }) },
    model: scriptedModel({
      name: "reader",
      reply: ({ task }) => {
        tasks.push(task.json);
        return { text: "read" };
      },
    }),
  });
  await runAgent(agent, { input: INPUT, files: [INVOICE], services: [CAMERA] });
  expect(tasks).toEqual([INPUT]);
});
