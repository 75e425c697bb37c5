import { Button, Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { copyText } from "../../parts/copy-once.tsx";
import { Icon, type IconName } from "../../parts/icon.tsx";
import classes from "./enrol.module.css";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import type { Asset } from "../../../protocol/api-types.ts";
import { onAccountEvent } from "../../live/events.ts";
import { Age } from "../../parts/age.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Note } from "../../parts/note.tsx";
import { PendingButton } from "../../parts/form.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { AcceptanceBanner } from "../asset/acceptance-banner.tsx";
import { deviceKey, useDevice } from "../asset/asset-queries.ts";
import { type Check, checkList, type CheckState, isDone } from "./check-list.ts";

interface CommandLineProps {
  readonly label: string;
  readonly command: string;
}

/** A command that is typed off the screen: no line ends inside of a word, where one would read a space. */
function CommandLine({ label, command }: CommandLineProps): ReactNode {
  const element = useRef<HTMLElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => setCopied(await copyText(command, element.current));
  return (
    <div>
      <Group justify="space-between" mb={4}>
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<Icon name={isCopied ? "check" : "copy"} size={14} />}
          onClick={() => void copy()}
        >
          {isCopied ? "Copied" : "Copy"}
        </Button>
      </Group>
      <code ref={element} className={classes.command}>
        {command.split(" ").flatMap((word, index) => [
          index === 0 ? "" : " ",
          // The words have no identity of their own.
          // oxlint-disable-next-line react/no-array-index-key
          <span key={index} className={classes.word}>
            {word}
          </span>,
        ])}
      </code>
    </div>
  );
}

/** While the device is not right yet it is looked at this often. Without a device this costs nothing of its data. */
const REFETCH_MS = 4000;

interface EnrolDeviceProps {
  readonly asset: Asset;
  readonly other: ReactNode;
}

/** The code to type on the device, and the list that turns green by itself. */
export function EnrolDevice({ asset, other }: EnrolDeviceProps): ReactNode {
  const checks = useChecks(asset.uuid);
  const isRight = isDone(checks);
  useWakeLock(!isRight);
  return (
    <Stack gap="lg">
      <div>
        <Title order={2}>
          <SafeText text={asset.name} max={200} />
        </Title>
        <Text c="dimmed">{asset.serial_number}</Text>
      </div>
      {checks[0]?.state === "good" && <AcceptanceBanner asset={asset} />}
      {isRight ? (
        <Note kind="good" title="The device is ready.">
          Everything that it can say of itself is right.
        </Note>
      ) : (
        <Code asset={asset} isLinked={checks[0]?.state === "good"} />
      )}
      <section aria-labelledby="checks">
        <Title order={2} id="checks" mb="xs">
          What must be right
        </Title>
        <ul className={classes.checks}>
          {checks.map((check) => (
            <CheckRow key={check.id} check={check} />
          ))}
        </ul>
      </section>
      <Group gap="xs">
        {isRight && (
          <Button component={Link} to={`/assets/${asset.uuid}`}>
            Show the asset
          </Button>
        )}
        {other}
      </Group>
    </Stack>
  );
}

function useChecks(assetId: string): readonly Check[] {
  const client = useQueryClient();
  const device = useDevice(assetId, REFETCH_MS);
  useEffect(() => {
    return onAccountEvent((event) => {
      if (event.type.startsWith("device.") && "asset_id" in event && event.asset_id === assetId)
        void Promise.all([deviceKey(assetId), KEYS.assets].map((queryKey) => client.invalidateQueries({ queryKey })));
    });
  }, [assetId, client]);
  return checkList({ device: device.data, failure: device.error ? toFailure(device.error).message : undefined });
}

function Code({ asset, isLinked }: { readonly asset: Asset; readonly isLinked: boolean }): ReactNode {
  const mayEnrol = usePermission("enrolment.create");
  const mayReplace = usePermission("enrolment.replace");
  const create = useMutation({
    mutationFn: () => call("POST /v1/assets/{asset_id}/enrolment-codes", { path: { asset_id: asset.uuid }, body: {} }),
  });
  if (isLinked) return null;
  if (!mayEnrol) return <Note kind="warn" title="Your role may not make enrolment codes." />;
  if (asset.last_seen !== null && !mayReplace)
    return (
      <Note kind="warn" title="A device of this asset has been connected.">
        Another one takes its place with a code that a person with the role operator makes.
      </Note>
    );
  if (!create.data)
    return (
      <Stack gap="md">
        {create.error && <FailureNote failure={toFailure(create.error)} />}
        <PendingButton size="lg" loading={create.isPending} onClick={() => create.mutate()}>
          Make a code
        </PendingButton>
        <Text size="sm" c="dimmed">
          It works once. Codes of this device that were not used become void.
          {asset.last_seen !== null && " The device that uses it takes the place of the one in service."}
        </Text>
      </Stack>
    );
  return <MadeCode key={create.data.code} {...create.data} isPending={create.isPending} onAgain={create.mutate} />;
}

interface MadeCodeProps {
  readonly code: string;
  readonly expires_at: number;
  readonly isPending: boolean;
  readonly onAgain: () => void;
}

function MadeCode({ code, expires_at, isPending, onAgain }: MadeCodeProps): ReactNode {
  const element = useRef<HTMLDivElement>(null);
  // The button that was pressed is gone.
  useEffect(() => element.current?.focus(), []);
  return (
    <Stack gap="md">
      <div ref={element} className={classes.code} role="group" aria-label={`Code ${code}`} tabIndex={-1}>
        {code}
      </div>
      <Text size="sm" c="dimmed">
        It works once, expires <Age at={expires_at} />, and is shown only now.
      </Text>
      <CommandLine
        label="Type on the device"
        command={`sudo edge-agent enroll --url ${location.origin} --code ${code}`}
      />
      <Group>
        <PendingButton variant="default" size="xs" loading={isPending} onClick={() => onAgain()}>
          Make another code
        </PendingButton>
      </Group>
    </Stack>
  );
}

const SIGNS: Readonly<Record<CheckState, { readonly icon: IconName; readonly word: string }>> = {
  waiting: { icon: "clock", word: "waiting" },
  good: { icon: "check", word: "right" },
  bad: { icon: "cross", word: "not right" },
  unknown: { icon: "alert", word: "not known" },
};

function CheckRow({ check: { title, state, text, next } }: { readonly check: Check }): ReactNode {
  const { icon, word } = SIGNS[state];
  return (
    <li className={classes.check} data-state={state}>
      <Icon name={icon} size={24} />
      <div role="status">
        <strong>
          {title}: {word}
        </strong>
        <div>
          <SafeText text={text} max={300} />
        </div>
        {next !== undefined && <div className={classes.next}>{next}</div>}
      </div>
    </li>
  );
}

/** Keeps the screen on while one waits beside the device. Browsers without it, or that refuse, do not matter. */
function useWakeLock(isWanted: boolean): void {
  useEffect(() => {
    if (!isWanted || !("wakeLock" in navigator)) return undefined;
    let lock: WakeLockSentinel | undefined;
    let isOver = false;
    const request = async (): Promise<void> => {
      if (document.hidden) return;
      // The browser refuses it, for example with a low battery.
      const granted = await navigator.wakeLock.request("screen").catch(() => undefined);
      if (isOver) await granted?.release();
      else lock = granted;
    };
    const update = (): void => void request();
    update();
    // It is lost when the page is hidden.
    document.addEventListener("visibilitychange", update);
    return () => {
      isOver = true;
      document.removeEventListener("visibilitychange", update);
      void lock?.release();
    };
  }, [isWanted]);
}
