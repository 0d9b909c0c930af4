"""Turkish sentences and what they state, one a line: subject | predicate | object.

``not`` before a predicate is a denial; several statements are separated by semicolons. Lines
without an arrow state nothing.
"""

from __future__ import annotations

STATES = """
Kerem bankadan ayrıldı, artık bir startupta çalışıyor. -> Kerem | works_at | startup
Kuzenim Ali İzmir'de yaşıyor. -> Ali | lives_in | İzmir
bu arada adım Deniz -> user | is_named | Deniz
telefonum 555 0199 haberin olsun -> user | phone | 555 0199
Mehmet Okur Bursa'da yaşıyor. -> Mehmet Okur | lives_in | Bursa
Trabzon'da yaşıyorum. -> user | lives_in | Trabzon
Trabzon’da yaşıyorum. -> user | lives_in | Trabzon
Artık Mersin'de yaşıyorum. -> user | lives_in | Mersin
Mersin'de yaşamıyorum. -> user | not lives_in | Mersin
Artık Mersin'de yaşamıyorum. -> user | not lives_in | Mersin
Sivas şehrinde yaşıyorum. -> user | lives_in | Sivas
Evim Sivas'ta. -> user | lives_in | Sivas
Kadıköy'de oturuyorum. -> user | lives_in | Kadıköy
Rize'ye taşındım. -> user | lives_in | Rize
Rize'den Ordu'ya taşındım. -> user | lives_in | Ordu
Ablam Rize'de yaşıyor. -> user's abla | lives_in | Rize
Abim Van'da yaşıyor ve ben Rize'de yaşıyorum. -> user's abi | lives_in | Van; user | lives_in | Rize
Selin Rize'de yaşıyor. -> Selin | lives_in | Rize
Mesleğim avukat. -> user | works_as | avukat
Yeni işim garson. -> user | works_as | garson
Aşçı olarak çalışıyorum. -> user | works_as | Aşçı
Veri analisti olarak çalışıyorum. -> user | works_as | Veri analisti
Turkcell'de çalışıyorum. -> user | works_at | Turkcell
Kardeşim Vestel'de çalışıyor. -> user's kardeş | works_at | Vestel
Adım Selin. -> user | is_named | Selin
Benim adım Selin Ak. -> user | is_named | Selin Ak
İsmim Kerem. -> user | is_named | Kerem
Kedimin adı Boncuk. -> user's kedi | is_named | Boncuk
Eşimin adı Kerem. -> user's eş | is_named | Kerem
Yaşım 28. -> user | age | 28
E-postam selin@ornek.org. -> user | email | selin@ornek.org
Telefon numaram 555 01 99. -> user | phone | 555 01 99
Oturduğum şehir Rize. -> user | lives_in | Rize
Yaşadığım ilçe Bornova. -> user | lives_in | Bornova
Çalıştığım şirket Arçelik. -> user | works_at | Arçelik
En sevdiğim renk lacivert. -> user | favourite_colour | lacivert
Lacivert en sevdiğim renktir. -> user | favourite_colour | Lacivert
En sevdiğim renk artık mor. -> user | favourite_colour | mor
Bu aralar en sevdiğim yemek mantı. -> user | favourite_yemek | mantı
Ablamın en sevdiği renk bordo. -> user's abla | favourite_colour | bordo
Renklerden en çok griyi severim. -> user | favourite_colour | gri
Favori rengim haki. -> user | favourite_colour | haki
Sunucu 8080 portunda çalışıyor. -> Sunucu | port | 8080
Test sunucusu 8443 portunu kullanıyor. -> Test sunucusu | port | 8443
Sunucunun portu 8443. -> Sunucu | port | 8443
Projenin veritabanı MariaDB. -> Proje | database | MariaDB
Projenin veritabanı MariaDB'dir. -> Proje | database | MariaDB
Projede veritabanı olarak MariaDB kullanıyoruz. -> Proje | database | MariaDB
Veritabanı artık SQLite. -> Veritabanı | is | SQLite
Uygulamanın sürümü 2.4. -> Uygulama | version | 2.4
Raporun teslim tarihi 9 Mayıs. -> Rapor | deadline | 9 Mayıs
Biletin fiyatı 40 lira. -> Bilet | price | 40 lira
adim Selin -> user | is_named | Selin
Rize'de yasiyorum -> user | lives_in | Rize
en sevdigim renk mor -> user | favourite_colour | mor
Düzeltme: Biletin fiyatı 45 lira. -> Bilet | price | 45 lira
Porto'da oturuyorum artık. -> user | lives_in | Porto
API sürümü 2.4. -> API | version | 2.4
Ali'nin telefon numarası 555 12 12. -> Ali | phone | 555 12 12
İşim Globex'te. -> user | works_at | Globex
Vejetaryen besleniyorum. -> user | diet | Vejetaryen
sürüm: 2.4 -> sürüm | is | 2.4
Belki Rize'de yaşarım. -> user | lives_in | Rize
Sanırım sunucunun portu 8443. -> sunucu | port | 8443
"""

STATES_NOTHING = """
Toplantı yarın saat 15'te.
Annem Rize'de.
Kitapta önemli bilgiler bulunuyor.
Mia önemli bir yer aldı.
Sınav saat 10'da.
Ev için 12 milyon teklif aldık.
Hiçbirimiz et yemeyiz.
Ailem geliyor.
Arkadaşlarımla buluştum.
Babamla telefonda konuştum.
Yarın toplantım var.
Haftaya bir sınavım var.
Rize'de mi yaşıyorsun?
Rize'de yaşıyor muyum?
Nerede yaşıyorum?
Rize güzel mi?
Adın ne?
Kaç yaşındasın?
Hangi rengi seviyorsun
Rize'ye taşınacağım.
Yarın Rize'ye gideceğim.
Rize'de yaşamak istiyorum.
Bir araba almayı planlıyorum.
Rize'de yaşarsam balık tutarım.
Eğer Rize'de yaşasaydım balık tutardım.
Keşke Rize'de yaşasaydım.
Ali Rize'de yaşadığımı söyledi.
Ali'ye göre Rize'de yaşıyorum.
Ali, Rize'de yaşıyor dedi.
Rize'ye taşınmış.
O Rize'de yaşıyor.
Orada yaşıyorum.
Burada oturuyorum.
Onu seviyorum.
Bunu sevmedim.
Seni seviyorum.
Her şeyi severim.
Çok seviyorum.
Çok yorgunum.
Mutluyum.
Buradayım.
Hazırım.
Geliyorum.
Tamam.
Teşekkürler!
Günaydın!
Görüşürüz.
Harika bir gün.
Bu harika.
Hava güzel.
Bu çok güzel bir fikir.
Bir sorum var.
Vaktim yok.
Bir fikrim var.
Haberim yok.
Param yok.
Sorun yok.
Var mı?
Karar aldım.
Nefes aldım.
Yarım saat sonra ararım.
İşim bitti.
İşim zor.
Evim çok güzel.
Adım adım ilerliyoruz.
Yaşım küçük.
Telefonum çaldı.
Sürüm çıktı.
Fiyatı yüksek.
Portu 8443.
Sonra New York'a taşındı.
Okul bittikten sonra Van'a taşındı.
Annesi öğretmen.
Yakubu Gowon, Nijeryalı asker.
Gerçek adı Selin.
Atom numarası 67.
4 yaşındayken resim yaptı.
Ev sahibi olarak İtalya seçildi.
Başkenti Graz.
Fiyatı ne kadar?
Rengi güzel.
Sevdim.
Kullanıyorum.
Çalışıyorum.
Evde çalışıyorum.
Şimdi çalışıyorum.
Okuyorum.
Yaz geldi.
Lütfen 8443 portunu kullan.
8443 portunu kullanmalısın.
Port kaç?
Doktorum aradı.
Bizim oğlan geldi.
Anlaştık.
Peki.
Evet.
Hayır.
"""
