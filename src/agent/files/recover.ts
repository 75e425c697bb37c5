import { join } from "node:path";
import type { StoredFile } from "../../protocol/apps/app-files.ts";
import { MAX_APP_FILES_BYTES } from "../../protocol/limits.ts";
import { contentId } from "../core/app/files.ts";
import { LABELS } from "../core/app/container.ts";
import type { AppRecord } from "../core/records.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import { hostPath } from "./host-path.ts";
import { findFetched } from "./fetched-contents.ts";
import { isContentOf } from "./intake.ts";
import { placeName, placePath, readIfAllowed } from "./place.ts";

export interface RecoveryContext {
  readonly engine: Pick<Engine, "readDeviceFiles" | "readContainerConfig">;
  readonly host: Pick<Host, "readMounts">;
  readonly config: { readonly stateDir: string };
}

export interface RecoveredFiles {
  /** By their ids. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
  /** Targets of the files whose contents are lost. */
  readonly lost: readonly string[];
}

/** Reads the contents of an app's files back from their place, as after the store was lost. Rejects if the engine does not answer. */
export async function recoverFiles(
  context: RecoveryContext,
  { name, deploymentId, imageId, spec: { files = [] } }: AppRecord,
  signal: AbortSignal,
): Promise<RecoveredFiles> {
  const directory = placePath(context.config.stateDir, placeName(deploymentId));
  // What was fetched lies beside the store, and was not lost with it.
  const isFetched = ({ sha256: hash }: StoredFile): boolean =>
    hash !== undefined && findFetched(context.config.stateDir, hash) !== undefined;
  const found = files.map((file, index) => {
    const isRead = !isFetched(file) && file.size <= MAX_APP_FILES_BYTES;
    return isRead ? readIfAllowed(join(directory, String(index))) : undefined;
  });
  const isUnread = (file: StoredFile, index: number): boolean => !isFetched(file) && !isFound(file, found[index]);
  if (files.some(isUnread)) {
    const onDevice = await hostPath(context, directory, signal);
    const labels = { [LABELS.app]: name, [LABELS.stateDir]: context.config.stateDir };
    const names = files.flatMap((file, index) => (isUnread(file, index) ? [String(index)] : []));
    const request = { image: imageId, labels, directory: onDevice ?? directory, names, maxBytes: MAX_APP_FILES_BYTES };
    const read = await context.engine.readDeviceFiles(request, signal).catch((error: unknown) => {
      // The place may be gone. An engine that does not answer is asked again later.
      if (error instanceof EngineError && !["unavailable", "timeout"].includes(error.kind)) return [];
      throw error;
    });
    for (const [position, content] of read.entries()) found[Number(names[position])] = content;
  }
  const contents = files.flatMap((file, index): [string, Uint8Array][] => {
    const content = found[index];
    return content && isFound(file, content) ? [[contentId(file), content]] : [];
  });
  return { contents: new Map(contents), lost: files.filter(isUnread).map(({ target }) => target) };
}

function isFound(file: StoredFile, content: Uint8Array | undefined): boolean {
  return content !== undefined && isContentOf(file, content);
}
