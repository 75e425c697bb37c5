import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import type { AgentRelease } from "../api/agent-releases.ts";
import { shortDigest } from "./image-view.ts";

const COLUMNS: Column<AgentRelease>[] = [
  { header: "VERSION", cell: ({ version }) => sanitizeLine(version) },
  { header: "ADDED", cell: (release) => formatTime(release.added_at) },
  {
    header: "DOWNLOAD",
    cell: ({ images }) =>
      images.map(({ architecture, bytes }) => `${sanitizeLine(architecture)} ${formatBytes(bytes)}`).join(", "),
    canShrink: true,
  },
  { header: "DIGEST", cell: ({ digest }) => shortDigest(digest) },
];

export function renderAgentReleases(
  releases: readonly AgentRelease[],
  theme: Theme,
  width: number | undefined,
): string {
  return releases.length === 0 ? "The service has no releases." : renderTable(COLUMNS, releases, theme, width);
}
