/**
 * `npm pack` in the repository would pack its sources, which Node refuses inside `node_modules`. So npm ends here, and says
 * how the package is made that users install.
 */
console.error("npm pack makes no package of the repository: its sources do not run inside node_modules");
console.error("next: npm run package && npm pack ./build/cairn-run");
process.exitCode = 1;
