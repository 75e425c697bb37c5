import { Button, Group, Text } from "@mantine/core";
import { type ComponentType, type ReactNode, Suspense } from "react";
import { Link, Navigate, useParams, useSearchParams } from "react-router";
import { usePermission } from "../../api/session.ts";
import type { Asset } from "../../api/types.ts";
import { lazyPart } from "../../parts/lazy-part.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Loading } from "../../parts/loading.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { Reason } from "../../parts/reason.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import type { AssetState } from "../assets/asset-row.ts";
import { AcceptanceBanner } from "./acceptance-banner.tsx";
import { AppsTab } from "./apps-tab.tsx";
import classes from "./asset.module.css";
import { useApps, useAsset } from "./asset-queries.ts";
import { Freshness } from "./freshness.tsx";
import { HoldBanner } from "./hold-banner.tsx";
import type { TabProps } from "./tab-props.ts";

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

function OneAsset({ asset }: { readonly asset: Asset & Partial<AssetState> }): ReactNode {
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
        {asset.attention?.map((reason) => (
          <Reason key={reason} reason={reason} />
        ))}
      </Group>
      <AcceptanceBanner asset={asset} />
      <HoldBanner assetId={asset.uuid} />
      <nav aria-label="Parts of the asset" className={classes.tabs}>
        {TABS.map(({ id, label }) => (
          <Link
            key={id}
            to={id === "apps" ? `/assets/${asset.uuid}` : `?tab=${id}`}
            replace
            className={classes.tab ?? ""}
            aria-current={id === tab.id ? "page" : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      <Suspense fallback={<Loading />}>
        <tab.Content asset={asset} />
      </Suspense>
    </>
  );
}
