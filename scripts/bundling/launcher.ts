import type { Executable } from "./executables.ts";
import { LIBRARIES } from "./runtime.ts";

/** Minimum major version of Node.js: the programs use its SQLite and its syntax. */
const NODE_MAJOR = 26;

/** Returns the shell script that starts a program with Node.js: the one beside it, the project's, or the system's. */
export function launcher({ name, daemon, hasLibraries, environment }: Executable): string {
  const options = daemon
    ? `options=\nif [ "\${1-}" = ${daemon.command} ]; then options="${daemon.nodeOptions.join(" ")}"; fi\n`
    : "";
  // $options is unquoted: each option is a word.
  const node = `exec "$node" ${daemon ? "$options " : ""}"$here/${name}.mjs" "$@"`;
  const variables = Object.entries(environment).map(([key, value]) => `export ${key}="\${${key}:-${value}}"\n`);
  const libraries = hasLibraries
    ? `if [ -d "$here/${LIBRARIES}" ]; then export LD_LIBRARY_PATH="$here/${LIBRARIES}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; fi\n`
    : "";
  return `#!/bin/sh
# Starts ${name} with its own Node.js, otherwise with the one on the PATH.
self=$(readlink -f -- "$0")
here=\${self%/*}
${variables.join("")}${libraries}${options}for node in "$here/node" "$here/../node_modules/.bin/node"; do
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
