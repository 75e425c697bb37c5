import type { Executable } from "./executables.ts";

/** Major version of Node.js the programs are made for: they use its SQLite and syntax it does not have to translate. */
const NODE_MAJOR = 26;

/** The shell script that starts a program with a Node.js that fits: the one beside it, the project's, or the system's. */
export function launcher({ name, daemon, environment }: Executable): string {
  const options = daemon
    ? `options=\nif [ "\${1-}" = ${daemon.command} ]; then options="${daemon.nodeOptions.join(" ")}"; fi\n`
    : "";
  // Unquoted: each is a word of its own.
  const node = `exec "$node" ${daemon ? "$options " : ""}"$here/${name}.mjs" "$@"`;
  const variables = Object.entries(environment).map(([key, value]) => `export ${key}="\${${key}:-${value}}"\n`);
  return `#!/bin/sh
# Starts ${name} with the Node.js that came with it, otherwise with the one on the PATH.
self=$(readlink -f -- "$0")
here=\${self%/*}
${variables.join("")}${options}for node in "$here/node" "$here/../node_modules/.bin/node"; do
  if [ -x "$node" ]; then ${node}; fi
done
if ! node=$(command -v node); then
  echo "${name}: needs Node.js ${NODE_MAJOR} or newer, and found none: put it at $here/node or on the PATH" >&2
  exit 1
fi
version=$("$node" --version)
major=\${version#v}
major=\${major%%.*}
if [ "$major" -lt ${NODE_MAJOR} ]; then
  echo "${name}: needs Node.js ${NODE_MAJOR} or newer, and $node is $version: put a newer one at $here/node or on the PATH" >&2
  exit 1
fi
${node}
`;
}
