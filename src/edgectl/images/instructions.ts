import type { ImageConfig } from "../registry/documents.ts";

const MAX_LENGTH = 2_000;

/** Returns the Dockerfile's instruction for each layer, as far as the history of the image has it. */
export function instructionsOf({ history, rootfs }: ImageConfig): readonly (string | undefined)[] {
  const made = history.filter((entry) => entry.empty_layer !== true);
  // A history of another length says nothing about which layer is which.
  if (made.length !== rootfs.diff_ids.length) return rootfs.diff_ids.map(() => undefined);
  return made.map((entry) => (entry.created_by === undefined ? undefined : toInstruction(entry.created_by)));
}

/** Turns what builders write into the line of the Dockerfile. */
function toInstruction(createdBy: string): string {
  const text = createdBy
    .slice(0, MAX_LENGTH)
    .replace(/\s*# buildkit$/, "")
    .replace(/^\/bin\/sh -c #\(nop\)\s+/, "")
    .replace(/^RUN (?:\|\d+ (?:\S+=\S* )*)?\/bin\/sh -c /, "RUN ")
    .replace(/^(?:\|\d+ (?:\S+=\S* )*)?\/bin\/sh -c /, "RUN ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return text.replace(/^(COPY|ADD) (?:file|dir|multi):([0-9a-f]{12})[0-9a-f]* in /, "$1 $2… ");
}
