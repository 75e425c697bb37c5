import { type ComponentType, type ReactNode, Suspense } from "react";
import type { AppList, Asset } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { formatDuration } from "../../parts/durations.ts";
import { LinkState } from "../assets/link-state.tsx";
import { Box, Button, Group, Text } from "@mantine/core";
import { Note } from "../../parts/note.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { type TabProps, useApps, useAsset, useHold } from "./asset-queries.ts";
import { Link, Navigate, useParams, useSearchParams } from "react-router";
import { usePermission } from "../../api/session.ts";
import { lazyPart } from "../../parts/missing-part.tsx";
import { Loaded, Loading } from "../../parts/loaded.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { Reason } from "../../parts/reason.tsx";
import { AcceptanceBanner } from "./acceptance-banner.tsx";
import { AppsTab } from "./apps-tab.tsx";
import { AssetAlerts, SilenceAsset, SilenceBanner } from "./asset-alerts.tsx";
import { Tabs } from "../../parts/tabs.tsx";

/** A report may be this old by rounding, in seconds. */
const MAX_CURRENT_AGE_S = 5;

interface Props {
  readonly presence: Pick<AppList, "reachable" | "last_seen" | "reported_at" | "age_s">;
}

/** Whether the device is connected, and how old what it reported may be. */
export function Freshness({ presence }: Props): ReactNode {
  const { reachable, last_seen: lastSeen, reported_at: reportedAt, age_s: ageS } = presence;
  return (
    <span>
      <LinkState connected={reachable} lastSeen={lastSeen} />
      {reachable && (ageS ?? 0) > MAX_CURRENT_AGE_S && (
        <span>
          {" "}
          · may be out of date by {formatDuration(ageS ?? 0)}: the device has not reported its latest changes yet
        </span>
      )}
      {!reachable && reportedAt !== null && (
        <span>
          {" · shown as it was "}
          <Age at={reportedAt} />
        </span>
      )}
    </span>
  );
}

/** Says that an asset is held, why, and until when; nothing if it is not. */
export function HoldBanner({ assetId }: { readonly assetId: string }): ReactNode {
  const hold = useHold(assetId).data;
  if (!hold) return null;
  return (
    <Box mb="md">
      <Note kind="warn" title="This asset is held: rollouts do not touch it.">
        <div>
          <SafeText text={hold.reason} max={300} />
        </div>
        <div>
          Since <Age at={hold.set_at} />, by <SafeText text={hold.set_by.name ?? hold.set_by.id} max={200} />;{" "}
          {hold.until === null ? (
            "until it is released"
          ) : (
            <>
              it ends <Age at={hold.until} />
            </>
          )}
          .
        </div>
      </Note>
    </Box>
  );
}

interface Tab {
  readonly id: string;
  readonly label: string;
  readonly Content: ComponentType<TabProps>;
}

/** The first tab comes with the page, the others when they are opened. */
const TABS: readonly Tab[] = [
  { id: "apps", label: "Apps", Content: AppsTab },
  { id: "sims", label: "SIMs", Content: lazyPart(async () => (await import("./sims-tab.tsx")).SimsTab) },
  {
    id: "deployments",
    label: "Deployments",
    Content: lazyPart(async () => (await import("./deployments-tab.tsx")).DeploymentsTab),
  },
  {
    id: "health",
    label: "Health",
    Content: lazyPart(async () => (await import("./health-tab.tsx")).HealthTab),
  },
  {
    id: "device",
    label: "Device",
    Content: lazyPart(async () => (await import("./device-tab.tsx")).DeviceTab),
  },
  {
    id: "settings",
    label: "Tags and hold",
    Content: lazyPart(async () => (await import("./settings-tab.tsx")).SettingsTab),
  },
  {
    id: "history",
    label: "History",
    Content: lazyPart(async () => (await import("./history-tab.tsx")).HistoryTab),
  },
];

/** One asset: how it is, how old that knowledge is, and everything of it. */
export function AssetPage(): ReactNode {
  const { asset_id: id = "" } = useParams();
  const asset = useAsset(id);
  return (
    <Loaded query={asset}>
      {(data) =>
        // Any identifier leads here; what follows uses the one that never changes.
        data.uuid === id ? <OneAsset asset={data} /> : <Navigate to={`/assets/${data.uuid}`} replace />
      }
    </Loaded>
  );
}

function OneAsset({ asset }: { readonly asset: Asset }): ReactNode {
  const [parameters] = useSearchParams();
  const tab = TABS.find(({ id }) => id === parameters.get("tab")) ?? TABS[0];
  const mayDeploy = usePermission("apps.deploy");
  const mayMakeCodes = usePermission("enrolment.create");
  const mayReplace = usePermission("enrolment.replace");
  const mayEnrol = asset.last_seen === null ? mayMakeCodes : mayReplace;
  const apps = useApps(asset.uuid);
  if (!tab) return null;
  return (
    <>
      <PageTitle
        title={asset.name}
        heading={<SafeText text={asset.name} max={200} />}
        actions={
          <>
            <SilenceAsset asset={asset} />
            {mayEnrol && (
              <Button
                component={Link}
                to={`/enrol?serial=${encodeURIComponent(asset.serial_number)}`}
                variant="default"
              >
                Enrol again
              </Button>
            )}
            {mayDeploy && (
              <Button component={Link} to={`/assets/${asset.uuid}/deploy`}>
                Deploy an app
              </Button>
            )}
          </>
        }
      />
      <Group gap="md" mb="md">
        <Text size="sm" c="dimmed">
          {asset.serial_number}
          {asset.type !== "" && (
            <>
              {" · "}
              <SafeText text={asset.type} />
            </>
          )}
          {asset.supersim || asset.prosim ? ` · SIMs ${asset.status}` : " · no SIM"}
        </Text>
        {apps.data && <Freshness presence={apps.data} />}
        {asset.attention.map((reason) => (
          <Reason key={reason} reason={reason} />
        ))}
      </Group>
      <AcceptanceBanner asset={asset} />
      <HoldBanner assetId={asset.uuid} />
      <SilenceBanner assetId={asset.uuid} />
      <AssetAlerts assetId={asset.uuid} />
      <Tabs
        label="Parts of the asset"
        current={tab.id}
        tabs={TABS.map(({ id, label }) => ({
          id,
          label,
          to: id === "apps" ? `/assets/${asset.uuid}` : `?tab=${id}`,
        }))}
      />
      <Suspense fallback={<Loading />}>
        <tab.Content asset={asset} />
      </Suspense>
    </>
  );
}
