import type { ReactNode } from "react";
import { Tabs } from "../../parts/tabs.tsx";

const ALERT_TABS = [
  { id: "open", label: "Open", to: "/alerts" },
  { id: "over", label: "History", to: "/alerts?view=over" },
  { id: "silences", label: "Silences", to: "/alerts?view=silences" },
  { id: "sent", label: "Messages sent", to: "/alerts?view=sent" },
  { id: "settings", label: "Settings", to: "/alerts/settings" },
] as const;

export function AlertTabs({ current }: { readonly current: (typeof ALERT_TABS)[number]["id"] }): ReactNode {
  return <Tabs label="Parts of the page" tabs={ALERT_TABS} current={current} />;
}
