import { type BrokenDevice, config, STATE, STOP } from "./device-faults.ts";

/** Devices whose state, or what their apps mount, is broken. */
export const BROKEN_STORAGE: readonly BrokenDevice[] = [
  // The state.
  {
    name: "state of root",
    break: `${STOP} chown -R root:root ${STATE}`,
    isKept: true,
    id: "service",
    text: /stopped/,
    next: /start/,
  },
  {
    name: "store of root",
    break: `${STOP} chown root:root ${STATE}/agent.db`,
    id: "service",
    text: /State, permissions: .*cannot be written by edge-agent/,
    next: /sudo chown -R edge-agent: \/var\/lib\/edge-agent/,
  },
  {
    name: "store damaged",
    break: `${STOP} cp -a ${STATE}/agent.db /root/agent.db; head -c 8192 /dev/urandom | dd of=${STATE}/agent.db conv=notrunc status=none`,
    isKept: true,
    mend: `mv /root/agent.db ${STATE}/agent.db`,
    id: "service",
    text: /stopped/,
    next: /start/,
  },
  {
    name: "state on a disk that is not mounted",
    break: `${STOP} mv ${STATE} /root/state; ln -s /mnt/data/state ${STATE}`,
    mend: `rm ${STATE}; mv /root/state ${STATE}`,
    id: "service",
    text: /cannot start: its state directory cannot be made.*is a link to \/mnt\/data\/state, which is not there/,
    next: /Mount the disk/,
  },
  {
    name: "state read-only",
    break: `${STOP} mkfs.ext4 -q -m 0 -F /root/state.img 32M; mount -o loop,errors=remount-ro /root/state.img /mnt; cp -a ${STATE}/. /mnt/; umount /mnt; mount -o loop,errors=remount-ro /root/state.img ${STATE}; chown edge-agent: ${STATE}; systemctl start edge-agent; until edge-agent status > /dev/null; do sleep 0.2; done; echo 1 > /sys/fs/ext4/$(basename $(findmnt -no SOURCE ${STATE}))/trigger_fs_error`,
    isKept: true,
    mend: `${STOP} umount ${STATE}`,
    id: "permissions",
    text: /file system of \/var\/lib\/edge-agent is read-only/,
    next: /remount,rw/,
  },
  {
    name: "state full",
    break: `${STOP} mount -t tmpfs -o size=4M,mode=700 tmpfs ${STATE}; chown edge-agent: ${STATE}; systemctl start edge-agent; until edge-agent status > /dev/null; do sleep 0.2; done; dd if=/dev/zero of=${STATE}/filler bs=64k status=none; true`,
    isKept: true,
    mend: `${STOP} umount ${STATE}`,
    id: "permissions",
    text: /is full/,
    next: /Free space/,
  },

  // Apps.
  {
    name: "a directory of an app that is gone",
    break: "mv /srv/data /srv/gone; docker kill app",
    isKept: true,
    mend: "mv /srv/gone /srv/data",
    id: "volumes",
    text: /\/srv\/data, which app mounts, is not there/,
    next: /sudo mkdir -p \/srv\/data/,
  },
  {
    name: "a disk of an app that is not mounted",
    break: "echo 'LABEL=data /srv/data ext4 nofail 0 2' > /etc/fstab",
    isKept: true,
    mend: "rm /etc/fstab",
    warns: ["volumes", /\/srv\/data, which app mounts, is on a disk that is not mounted/],
  },
  {
    name: "a disk of an app that is full",
    break: "mount -t tmpfs -o size=64k tmpfs /srv/data; head -c 100000 /dev/zero > /srv/data/filler; true",
    isKept: true,
    mend: "umount /srv/data",
    warns: ["volumes", /file system of \/srv\/data is full, which app writes/],
  },
  {
    name: "a disk of an app that is read-only",
    break: "mount -t tmpfs -o ro tmpfs /srv/data",
    isKept: true,
    mend: "umount /srv/data",
    warns: ["volumes", /file system of \/srv\/data is read-only, which app writes/],
  },
  {
    // EXT4_IOC_SHUTDOWN, as when its disk is pulled.
    name: "a disk of an app that fails",
    break: `mkfs.ext4 -q -F /root/data.img 16M; mount -o loop /root/data.img /srv/data; perl -e 'open(D, "<", "/srv/data"); $how = pack("L", 2); ioctl(D, 0x8004587d, $how) or die $!'`,
    mend: "umount /srv/data",
    id: "volumes",
    text: /\/srv\/data, which app mounts, cannot be read \(EIO\): its disk fails or is gone/,
    next: /dmesg.*edge-agent restart app/,
  },
  {
    name: "policy that forbids what runs",
    break: config('c.policy = { mounts: { deny: ["/srv"] } }'),
    id: "agent",
    text: /app does not run as it should: .*\/srv/,
    next: /edge-agent app app/,
  },
];
