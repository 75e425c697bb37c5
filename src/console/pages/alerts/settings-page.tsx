import { Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { usePermission } from "../../api/session.ts";
import { Forbidden, Loaded } from "../../parts/loaded.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { AlertTabs } from "./alerts-tabs.tsx";
import { ChannelsSection } from "./channels-section.tsx";
import { RoutesSection } from "./routes-section.tsx";
import { RulesSection } from "./rules-section.tsx";
import { useAlertSettings } from "./settings-data.ts";

/** Who is told of which alerts, and what differs from the defaults of conditions. */
export function AlertSettingsPage(): ReactNode {
  const maySee = usePermission("settings.manage");
  const read = useAlertSettings();
  return (
    <>
      <PageTitle title="Alert settings" />
      <AlertTabs current="settings" />
      {maySee ? (
        <Loaded query={read}>
          {(data) => (
            <Stack gap="xl">
              <ChannelsSection read={data} />
              <RoutesSection read={data} />
              <RulesSection read={data} />
            </Stack>
          )}
        </Loaded>
      ) : (
        <Forbidden permission="settings.manage" />
      )}
    </>
  );
}
