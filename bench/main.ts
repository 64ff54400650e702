/**
 * `npm run bench [-- BEATS]`: one long run, tenth by tenth (`beats.ts`). `npm run bench -- --small`: counts what a beat
 * asks of its store and of the disk, and exits 1 if a count is above its bound (`small.ts`). `npm run bench -- --peers`: cairn
 * beside other ways to make a loop durable (`peers.ts`). `npm run bench -- --start`: what a process costs before it does its
 * work (`start.ts`). `npm run bench -- --stores`: what operations cost in stores of many runs (`stores.ts`).
 */
if (process.argv.includes("--small")) await import("./small.ts");
else if (process.argv.includes("--peers")) await import("./peers.ts");
else if (process.argv.includes("--stores")) await import("./stores.ts");
else if (process.argv.includes("--start")) await import("./start.ts");
else await import("./beats.ts");
