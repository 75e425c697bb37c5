import { MIN_PASSWORD_LENGTH } from "../../protocol/people/users.ts";

/** Long passwords that turn up most often in published collections of leaked ones, lower case. */
const LEAKED = `
  010203040506 012345678910 014702580369 01telemike01 050605rostik 102030405060 1111111111zz 111222333000
  111222333444555 112233445566 122333444455555 123123qweqwe 123321123321 123321456654 123321qweewq 123456654321
  12345677654321 123456782000 1234567887654321 123456789000 12345678900987654321 123456789012 1234567890987654321
  1234567890qaz 1234567890qw 1234567890qwe 1234567890qwerty 1234567890zzz 123456789101 123456789123 1234567892000
  12345678987654321 123456789987654321 123456789aaa 123456789abc 123456789asd 123456789qaz 123456789qqq 123456789qwe
  123456789qwer 123456789qwerty 123456789zxc 1234567qwertyu 123456qwerty 123456zxcvbn 1234qwerasdf 1234qwerasdfzxcv
  123ewqasdcxz 123qwe123qwe 123qwe456rty 123qweasdzxc 123qwerty123 12qw34er56ty 159753159753 159753456852 193570356033
  19960610ilja 1a2a3a4a5a6a 1a2s3d4f5g6h 1q2w3e4r5t6y 1qa2ws3ed4rf 1qa2ws3ed4rf5tg 1qaz2wsx3edc 1qaz2wsx3edc4rfv
  1qazxsw23edc 1qazxsw23edcvfr4 23176djivanfros 23wkoa0fp78dk 31217221027711 32615948worms 41d8cd98f00b
  420842084208555 4815162342lf 4815162342lost 541233432442 59382113kevinp 6215mila6215 742617000027 89063032220m
  89231243658s 89876065093rax 89semtsriuty a1s2d3f4g5h6 abc123456789 admin18533362 administrator aksjdlasdakj89879
  alpha135792468 amadeusptfcor an83546921an13 andrewjackie antananarivu anytimetoday asd123asd123 asdfgh123456
  asdfghjkl123 auckland2010 avrillavigne badiman28200 bhrh0h2oof6xbqjeh blacksonblon bltynbabrfwbz boy4u2ownnyc
  bpgjldsgjldthnf bullnuts2003 businessbabe cheeseburger chesterfield chickenwing101 christopher1 civilization
  cjdthitycndj cnfc35762209 combat123654 configuratio construction contortionist corperfmonsy cosmopolitan
  counterstrike devilmaycry4 digitalprodu dkflbvbhjdbx dkflbvbhjdyf domainlock2005 edwardcullen entertainment
  fatima753357 finalfantasy findaupair007 fkmnthyfnbdf fktrcfylhjdbx fktrcfylhjdf fktrcfylhjdyf flvbybcnhfnjh
  foreveryoung frederiksberg fynfyfyfhbde gfhfktkjuhfv gfhjkmgfhjkm ghbdtnghbdtn ghbdtnrfrltkf ghhh47hj7649
  ghjatccbjyfk ghjcnjgbpltw ghjcnjgfhjkm ghjcnjghjcnj ghjcnjqgfhjkm ghjcnjrdfibyj ghjnbdjcnjzybt ghtdtlvtldtl
  gjkysqgbpltw greenlantern gthtrfnbgjkt gtnhjpfdjlcr hd764nw5d7e1vb1 hd764nw5d7e1vbv hedimaptfcor iampurehaha2
  ilovemyfamily ingodwetrust installdevic installsqlst intelligence international ipo54tj45uy856 iseedeadpeople
  jamesbond007 josephphone7 justinbieber ktjynsq40147 leavemealone lhbjkjubz2957704 lost4815162342 love777321777
  lytdybrbdfvgbhf lytghjgtnhjdcr mailcreated5240 maprchem56458 marinamarina massimiliano maurolarastefy mevefalkcakk
  michaeljackson minecraft123 minnesota_hp momsanaladventure morganstanley msoracle32re msorcloledbr
  nastyanastya ne_e_pod_chehyl necronomicon needforspeed nemvxyheqdd5oqxyxyzi networkingpe newproject2004
  nhbujyjvtnhbz nhecsyfujkjdt nhfdvfnjkju123 nhfycajhvths nick1234-rem936 nightcrawler nondriversig ntktdbpjh1994
  olcrackmaster ontheoutside paraklast1974 password1234 passwordassword passwordpassword passwordstandard peanutbutter
  pfqwtd27121988 philadelphia playstation2 playstation3 professional ptybnxtvgbjy punksnotdead q1w2e3r4t5y6
  q1w2e3r4t5y6u7 q1w2e3r4t5y6u7i8 q1w2e3r4t5y6u7i8o9p0 qawsedrftgyh qaz123wsx456 qazwsx123456 qazwsxedc123
  qazwsxedcrfv qazwsxedcrfvtgb qazwsxqazwsx qazxswedc123 qazxswedcvfr qwaszxerdfcv qwe123qwe123 qweasdzxc123
  qwerasdfzxcv qwertasdfgzxcvb qwerty123456 qwerty123456789 qwertyasdfgh qwertyuiop10 qwertyuiop12 qwertyuiop123
  qwertyuiop12345 qwertyytrewq residentevil rfnthbyf1988 ronaldinho10 sanfrancisco satisfaction saun24865709
  scandinavian schoolgirlie sdicmt7seytn seemnemaailm sojdlg123aljg sonnenschein sonyericsson specialinsta
  stickdaddy77 stinkyfinger stratocaster supernatural systemofadown temppassword thecakeisalie ticketmaster
  transformers unbelievable vanyarespekt vfhbyfvfhbyf vfrcbvvfrcbv vfvfvskfhfve vladimirovna warhammer40k wazzkaprivet
  websolutions websolutionssu webuivalidat weihnachtsbau weihnachtsbaum whosyourdaddy xxxp455w0rd5 z1x2c3v4b5n6
  z1x2c3v4b5n6m7 zaq12wsxcde3 zaq1xsw2cde3 zaqwsxcderfv zcfvfzkexifz zqjphsyf6ctifgu zxcasdqwe123 zxcvbn123456
  zxcvbnm123456789 zxcvbnmmnbvcxz
`;

/** Words that short passwords often are. Two of them, or one with digits or signs, make a long one that is guessed early. */
const WORDS = `
  abc123 access admin administrator asdfgh asdfghjkl asdfghjklö azerty azertyuiop baseball batman changeit changeme charlie company
  computer control dashboard default demo device dragon edge football freedom gateway guest hello hello123 hunter iloveyou industrial
  internet killer letmein login manager master michael monkey mustang nothing operator p@ssw0rd p@ssword pa55word passw0rd password
  passwort pokemon princess qazwsx qwert qwerty qwertyuiop qwertz qwertzuiop raspberry root scada secret security server service
  shadow siemens starwars summer sunshine superman supervisor support system temp temporary test testing trustno1 user welcome
  welcome1 whatever winter zxcvbn zxcvbnm 1q2w3e 1q2w3e4r 1q2w3e4r5t 1qaz2wsx 123456 1234567 12345678 123456789 1234567890
`;

/** What people put behind a word to make it longer. */
const ENDINGS = `
  1 12 123 1234 12345 123456 1234567 12345678 123456789 1234567890 0123456789 01 007 00 000 11 111 1111 321 4321 54321 654321 ! !! !!! 1!
  12! 123! 1234! 12345! @1 @12 @123 @1234 @12345 #1 #123 #1234 _123 -123 .123 abc abcd qwerty asdf xyz
`;
const FIRST_YEAR = 1980;
const LAST_YEAR = 2035;
/** Runs along an alphabet, the digits or a row of keys. */
const RUNS = [
  "abcdefghijklmnopqrstuvwxyz",
  "01234567890123456789",
  "98765432109876543210",
  "qwertyuiopasdfghjklzxcvbnm",
  "qwertzuiopasdfghjklyxcvbnm",
  "azertyuiopqsdfghjklmwxcvbn",
  "1234567890qwertyuiop",
  "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
  "qazwsxedcrfvtgbyhnujm",
  "1q2w3e4r5t6y7u8i9o0p",
  "q1w2e3r4t5y6u7i8o9p0",
];

let passwords: ReadonlySet<string> | undefined;

/** Returns passwords of 12 characters and more that are guessed first, lower case. Made at the first call. */
export function commonPasswords(): ReadonlySet<string> {
  return (passwords ??= new Set(generate(MIN_PASSWORD_LENGTH)));
}

function* generate(minLength: number): Iterable<string> {
  yield* split(LEAKED);
  const words = split(WORDS);
  const years = Array.from({ length: LAST_YEAR - FIRST_YEAR + 1 }, (_, index) => String(FIRST_YEAR + index));
  const endings = [...split(ENDINGS), ...years.flatMap((year) => [year, `${year}!`, `@${year}`]), ...words];
  for (const word of words) {
    for (const ending of ["", ...endings]) if (word.length + ending.length >= minLength) yield word + ending;
  }
  for (const run of RUNS) {
    for (let start = 0; start + minLength <= run.length; start++)
      for (let end = start + minLength; end <= run.length; end++) yield run.slice(start, end);
  }
}

function split(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
