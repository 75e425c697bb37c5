import type { ReactNode } from "react";

/** Outlines in a square of 24 units. */
const ICONS = {
  alert: "M12 8v5m0 3v.5M10.3 4 2.5 18a2 2 0 0 0 1.8 3h15.4a2 2 0 0 0 1.8-3L13.7 4a2 2 0 0 0-3.4 0Z",
  audit: "M8 4h11v16H5V7l3-3Zm0 0v3H5m4 5h6m-6 4h6",
  bell: "M6 9.5a6 6 0 0 1 12 0c0 6 2.5 7.5 2.5 7.5h-17S6 15.5 6 9.5ZM10 20.5h4",
  check: "m5 12 5 5 9-10",
  clock: "M12 7v5l3 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z",
  copy: "M9 9h10v11H9zM5 15V4h10",
  cross: "m6 6 12 12M18 6 6 18",
  developer: "m8 8-4 4 4 4m8-8 4 4-4 4m-6 2 4-12",
  device: "M4 14h16v6H4zm4-4v4m8-4v4M5 7a10 10 0 0 1 14 0M8 17h.5m3 0h.5",
  enrol: "M12 5v14m-7-7h14",
  fleet: "M3 4h8v6H3zm10 0h8v6h-8zM3 14h8v6H3zm10 0h8v6h-8z",
  info: "M12 11v6m0-9.5v.5M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z",
  menu: "M4 6h16M4 12h16M4 18h16",
  overview: "M4 4h7v9H4zm9 0h7v5h-7zm0 7h7v9h-7zm-9 4h7v5H4z",
  pause: "M9 5v14m6-14v14",
  people:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Zm-6.5 9a6.5 6.5 0 0 1 13 0m1-9.3a3.3 3.3 0 0 0 0-6.4m2 15.7h3a6 6 0 0 0-4-5.6",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7.5 9a7.5 7.5 0 0 1 15 0",
  search: "m20 20-5-5m-4.5 2a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Z",
  sim: "M7 3h7l4 4v14H7zM10 12h5v5h-5z",
} as const;
export type IconName = keyof typeof ICONS;

interface Props {
  readonly name: IconName;
  readonly size?: number;
}

/** An icon beside a text that says the same: it is hidden from screen readers. */
export function Icon({ name, size = 18 }: Props): ReactNode {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      style={{ flex: "none" }}
    >
      <path d={ICONS[name]} />
    </svg>
  );
}
