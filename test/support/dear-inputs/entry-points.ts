import type { EntryPoint } from "./entry-point.ts";
import { FILE_ENTRY_POINTS } from "./files.ts";
import { IMAGE_ENTRY_POINTS } from "./images.ts";
import { LINK_ENTRY_POINTS } from "./links.ts";

/** The places where bytes of somebody else are read, all of them: see `test/repo/parsers.test.ts`. */
export const ENTRY_POINTS: readonly EntryPoint[] = [...IMAGE_ENTRY_POINTS, ...LINK_ENTRY_POINTS, ...FILE_ENTRY_POINTS];
